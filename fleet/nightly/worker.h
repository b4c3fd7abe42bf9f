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

/// State of the worker that a step runs in.
struct StepContext {
  Connection& connection;
  WorkQueue& queue;
  const ObjectStore& store;
  const NightOptions& options;
  std::string folder;  ///< for this worker alone

  /// Calls WorkQueue::finish(). If another worker has taken over the work, nothing happens.
  void finish(
      const WorkItem& item, const char* outcome, const std::string& detail,
      const std::function<void()>& consequences = [] {}) {
    static_cast<void>(queue.finish(connection, item, outcome, detail, consequences));
  }
};

// Outcomes of work.
inline constexpr const char* kWasUnchanged = "unchanged";  ///< same content as before
inline constexpr const char* kWasMade = "made";
inline constexpr const char* kWasBroken = "broken";
inline constexpr const char* kStayedBroken = "still broken";
inline constexpr const char* kWasReplayed = "replayed";
inline constexpr const char* kWasSkipped = "skipped";  ///< this node cannot run it
inline constexpr const char* kWasNotRun = "not run";   ///< its platform had no living worker

/// Rebuilds a job's benchmark if its inputs, the generator or its flags changed.
void generate_step(StepContext& context, const WorkItem& item);
/// Replays a benchmark and judges the result.
void replay_step(StepContext& context, const WorkItem& item);

/// Adds a replay on a platform, unless a benchmark with the same hash is replayed there: a night
/// has one result per hash and platform.
void add_replay(Connection& connection, std::int64_t night, std::int64_t benchmark,
                const std::string& platform);
/// Adds a replay on each platform of the night.
void add_replays(Connection& connection, std::int64_t night, std::int64_t benchmark);
/// Adds replays of the last benchmark of a job that broke, if the store still has the benchmark.
void add_replays_of_broken(StepContext& context, const WorkItem& item, const Job& job);

/// Claims work of these kinds until nothing is left that this platform can do. Waits while other
/// workers may still return work. `part` distinguishes the workers of one process.
void work(const NightOptions& options, std::int64_t night, const std::vector<std::string>& kinds,
          const std::string& part);

/// Returns the text of a failure as one line of limited length.
[[nodiscard]] std::string in_one_line(const std::string& text);

/// Opens a night and adds its work, or joins the open one. Returns its number. Does not read
/// traces: jobs whose files' state is unchanged get no work.
std::int64_t plan_night(Connection& connection, const ObjectStore& store,
                        const NightOptions& options);

/// A replay whose last attempt failed.
struct FailingReplay {
  std::int64_t benchmark = 0;
  std::string platform;
  std::int64_t since_night = 0;  ///< first night in which it failed
  std::int64_t last_night = 0;   ///< night of the last attempt
  std::string text;              ///< reason, in one line
};

/// Ordered by benchmark and platform.
[[nodiscard]] std::vector<FailingReplay> failing_replays(Connection& connection);

/// Compresses a report's text and puts it into the store. Returns its hash.
[[nodiscard]] std::string put_report(const ObjectStore& store, const std::string& json);
/// Throws Error if the report is missing or damaged.
[[nodiscard]] et_schema::Report read_report(const ObjectStore& store, const std::string& hash);

}  // namespace understudy::fleet
