#include "fleet/nightly/failing_replays.h"

#include "fleet/nightly/worker.h"
#include "fleet/queue/queue.h"

namespace understudy::fleet {

std::vector<FailingReplay> failing_replays(Connection& connection) {
  // A night that skipped a replay, or had nobody to run it, says nothing of it.
  const Rows rows = connection.query(
      "SELECT w.subject, w.platform, (SELECT MAX(b.night) FROM work b WHERE b.kind = w.kind AND "
      "b.subject = w.subject AND b.platform = w.platform AND b.outcome = $2), w.night, w.detail "
      "FROM work w "
      "WHERE w.kind = $1 AND w.outcome IN ($2, $3) AND w.id = (SELECT MAX(x.id) FROM work x WHERE "
      "x.kind = w.kind AND x.subject = w.subject AND x.platform = w.platform AND x.outcome IN "
      "($2, $3, $4)) ORDER BY w.subject, w.platform",
      {kReplayWork, kWasBroken, kStayedBroken, kWasReplayed});
  std::vector<FailingReplay> failing;
  for (const Row& row : rows) {
    failing.push_back({row.integer(0), row.text(1), row.is_null(2) ? 0 : row.integer(2),
                       row.integer(3), row.is_null(4) ? "" : row.text(4)});
  }
  return failing;
}

}  // namespace understudy::fleet
