#include "fleet/nightly/night_run.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "et_schema/base/error.h"
#include "finish.h"
#include "fleet/database/connection.h"
#include "fleet/database/schema.h"
#include "fleet/nightly/inputs.h"
#include "fleet/nightly/worker.h"
#include "fleet/queue/queue.h"
#include "fleet/records/benchmarks.h"
#include "fleet/records/jobs.h"
#include "fleet/records/nights.h"

namespace understudy::fleet {
namespace {

constexpr std::chrono::milliseconds kFirstLook(20);
constexpr std::chrono::milliseconds kLongestLook(500);

/// Worker threads. join() waits for all, then rethrows the first failure.
class Workers {
 public:
  ~Workers() {
    for (std::thread& thread : threads_) {
      if (thread.joinable()) {
        thread.join();
      }
    }
  }

  void start(const NightOptions& options, std::int64_t night, const std::vector<std::string>& kinds,
             const std::string& part) {
    {
      const std::lock_guard lock(mutex_);
      ++running_;
    }
    threads_.emplace_back([this, &options, night, kinds, part] {
      std::exception_ptr failure;
      try {
        work(options, night, kinds, part);
      } catch (...) {
        failure = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      --running_;
      if (failure && !failure_) {
        failure_ = failure;
      }
    });
  }

  [[nodiscard]] bool is_running() {
    const std::lock_guard lock(mutex_);
    return running_ > 0;
  }

  void join() {
    for (std::thread& thread : threads_) {
      thread.join();
    }
    threads_.clear();
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  int running_ = 0;
  std::exception_ptr failure_;
};

NightProgress progress_of(Connection& connection, std::int64_t night,
                          const std::vector<std::string>& kinds, const std::string& platform) {
  for (const std::string& kind : kinds) {
    const WorkCounts counts = count_work(connection, night, {kind}, platform);
    if (counts.left > 0) {
      return {kind == kGenerateWork ? "benchmarks" : "replays", counts.done, counts.total};
    }
  }
  return {"ending", 0, 0};
}

/// Several threads make benchmarks; only one also replays, since a replay needs the whole node.
void work_here(Connection& connection, const NightOptions& options, std::int64_t night,
               const std::vector<std::string>& kinds, const OnProgress& on_progress) {
  const WorkCounts counts = count_work(connection, night, kinds, options.platform);
  Workers workers;
  const std::size_t threads = std::min(options.jobs, std::max<std::size_t>(counts.left, 1));
  for (std::size_t i = 0; i < threads; ++i) {
    const bool makes_alone = i > 0 && kinds.size() > 1;
    workers.start(options, night, makes_alone ? std::vector<std::string>{kGenerateWork} : kinds,
                  std::to_string(i));
  }
  std::chrono::milliseconds look = kFirstLook;
  while (workers.is_running()) {
    on_progress(progress_of(connection, night, kinds, options.platform));
    std::this_thread::sleep_for(look);
    look = std::min(2 * look, kLongestLook);
  }
  workers.join();
}

/// Jobs whose benchmark must be checked, and benchmarks that are unchanged.
struct Due {
  std::vector<std::int64_t> generate;
  std::set<std::int64_t> replay;
  std::int64_t jobs = 0;
};

class DueFinder {
 public:
  DueFinder(Connection& connection, const ObjectStore& store, const NightOptions& options)
      : store_(store), options_(options) {
    for (Benchmark& benchmark : all_benchmarks(connection)) {
      benchmarks_.emplace(benchmark.id, std::move(benchmark));
    }
  }

  Due find(const std::vector<Job>& jobs) const {
    Due due;
    for (const Job& job : jobs) {
      ++due.jobs;
      if (is_as_before(job)) {
        if (job.benchmark != 0) {
          due.replay.insert(job.benchmark);
        }
      } else {
        due.generate.push_back(job.id);
      }
    }
    return due;
  }

 private:
  bool is_as_before(const Job& job) const {
    if (options_.regenerates || job.input_stat.empty()) {
      return false;
    }
    try {
      return has_outcome(job) && input_state(job.path).stat == job.input_stat;
    } catch (const et_schema::Error&) {
      return false;  // the step reports the error
    }
  }

  /// Returns true if the job has a benchmark of the same generator and flags whose file is in the
  /// store, or an error that would repeat.
  bool has_outcome(const Job& job) const {
    if (!job.broken.empty()) {
      return job.broken_key == benchmark_key(job.input_hash, options_.tools.generator, job.flags);
    }
    const auto found = benchmarks_.find(job.benchmark);
    std::error_code error;
    return found != benchmarks_.end() &&
           found->second.key ==
               benchmark_key(job.input_hash, options_.tools.generator, job.flags) &&
           std::filesystem::is_regular_file(store_.path_of(found->second.object), error);
  }

  const ObjectStore& store_;
  const NightOptions& options_;
  std::map<std::int64_t, Benchmark> benchmarks_;
};

}  // namespace

std::string run_night(const NightOptions& options, const OnProgress& on_progress) {
  const std::unique_ptr<Connection> connection = open_fleet(options.url, Opening::kExisting);
  const ObjectStore store(options.store, setting(*connection, "id"));
  on_progress({"looking at the jobs' files", 0, 0});
  const std::int64_t night = plan_night(*connection, store, options);
  work_here(*connection, options, night, {kGenerateWork, kReplayWork}, on_progress);
  return finish_night(*connection, night, options, on_progress);
}

bool run_worker(const NightOptions& options, const std::vector<std::string>& kinds,
                const OnProgress& on_progress) {
  const std::unique_ptr<Connection> connection = open_fleet(options.url, Opening::kExisting);
  const ObjectStore store(options.store, setting(*connection, "id"));
  if (!open_night(*connection)) {
    return false;
  }
  const std::int64_t night = plan_night(*connection, store, options);
  work_here(*connection, options, night, kinds, on_progress);
  return true;
}

std::string run_night_elsewhere(const NightOptions& options, const std::function<void()>& submit) {
  const std::unique_ptr<Connection> connection = open_fleet(options.url, Opening::kExisting);
  const ObjectStore store(options.store, setting(*connection, "id"));
  const std::int64_t night = plan_night(*connection, store, options);
  submit();
  return finish_night(*connection, night, options, [](const NightProgress&) {});
}

std::int64_t plan_night(Connection& connection, const ObjectStore& store,
                        const NightOptions& options) {
  // Checks files before the transaction, so that nobody waits for a slow file system.
  const std::vector<Job> jobs = all_jobs(connection);
  const Due due = open_night(connection) ? Due{} : DueFinder(connection, store, options).find(jobs);
  std::int64_t id = 0;
  in_transaction(connection, [&] {
    lock_nights(connection);
    const std::optional<Night> open = open_night(connection);
    if (open) {
      id = open->id;
    } else {
      const auto looked_at = static_cast<std::int64_t>(due.generate.size());
      id = add_night(connection, due.jobs, due.jobs - looked_at);
      for (const std::int64_t job : due.generate) {
        add_work(connection, id, kGenerateWork, job, "");
      }
    }
    if (options.replay.generate_only) {
      return;
    }
    join_night(connection, id, options.platform);
    // In an open night, new benchmarks get replays when they are made; others get them here.
    const std::vector<Benchmark> current = current_benchmarks(connection);
    for (const Benchmark& benchmark : current) {
      if (open || due.replay.contains(benchmark.id)) {
        add_replay(connection, id, benchmark.id, options.platform);
      }
    }
  });
  return id;
}

}  // namespace understudy::fleet
