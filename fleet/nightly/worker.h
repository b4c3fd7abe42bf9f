#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "et_schema/model/report.h"
#include "fleet/database/connection.h"
#include "fleet/nightly/options.h"
#include "fleet/objects/object_store.h"
#include "fleet/queue/queue.h"
#include "fleet/records/jobs.h"

namespace understudy::fleet {

/// What a step works with.
struct StepContext {
  Connection& connection;
  WorkQueue& queue;
  const ObjectStore& store;
  const NightOptions& options;
  std::string folder;  ///< of this worker's own

  /// WorkQueue::finish(). What another has by now is the other's.
  void finish(
      const WorkItem& item, const char* outcome, const std::string& detail,
      const std::function<void()>& consequences = [] {}) {
    static_cast<void>(queue.finish(connection, item, outcome, detail, consequences));
  }
};

// Outcomes of work.
inline constexpr const char* kWasUnchanged = "unchanged";  ///< the content is as before
inline constexpr const char* kWasMade = "made";
inline constexpr const char* kWasBroken = "broken";
inline constexpr const char* kStayedBroken = "still broken";
inline constexpr const char* kWasReplayed = "replayed";
inline constexpr const char* kWasSkipped = "skipped";  ///< cannot run on this node
inline constexpr const char* kWasNotRun = "not run";   ///< its platform had no living worker

/// Rebuilds a job's benchmark if its inputs, the generator or its flags changed.
void generate_step(StepContext& context, const WorkItem& item);
/// Replays a benchmark and judges the result.
void replay_step(StepContext& context, const WorkItem& item);

/// On a platform, unless another benchmark of the same hash is replayed there: a night has one
/// result of each.
void add_replay(Connection& connection, std::int64_t night, std::int64_t benchmark,
                const std::string& platform);
/// On each platform of the night.
void add_replays(Connection& connection, std::int64_t night, std::int64_t benchmark);
/// A job that broke keeps its benchmark, and that is replayed as long as the store has it.
void add_replays_of_broken(StepContext& context, const WorkItem& item, const Job& job);

/// Takes work of these kinds until nothing is left that this platform can do; waits for others that
/// may yet give some back. `part` tells workers of one process apart.
void work(const NightOptions& options, std::int64_t night, const std::vector<std::string>& kinds,
          const std::string& part);

/// A failure as one line of limited length.
[[nodiscard]] std::string in_one_line(const std::string& text);

/// Opens a night, with the work that is to be done in it, or joins the one that is open. Its
/// number. Reads no trace: jobs whose files look as before are left alone.
std::int64_t plan_night(Connection& connection, const ObjectStore& store,
                        const NightOptions& options);

/// A replay that failed when it was tried last.
struct FailingReplay {
  std::int64_t benchmark = 0;
  std::string platform;
  std::int64_t since_night = 0;  ///< began to fail
  std::int64_t last_night = 0;   ///< was tried last
  std::string text;              ///< why, in one line
};

/// Ordered by benchmark and platform.
[[nodiscard]] std::vector<FailingReplay> failing_replays(Connection& connection);

/// Puts a report's text into the store, deflated. Its hash.
[[nodiscard]] std::string put_report(const ObjectStore& store, const std::string& json);
/// Throws Error where it is missing or damaged.
[[nodiscard]] et_schema::Report read_report(const ObjectStore& store, const std::string& hash);

}  // namespace understudy::fleet
