#include "fleet/nightly/night_run.h"

#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "finish.h"
#include "fleet/database/schema.h"
#include "fleet/nightly/plan.h"
#include "fleet/nightly/worker.h"
#include "fleet/queue/queue.h"
#include "fleet/records/nights.h"

namespace understudy::fleet {
namespace {

constexpr std::chrono::milliseconds kFirstLook(20);
constexpr std::chrono::milliseconds kLongestLook(500);

/// Threads that work; the first failure of one is thrown when all have ended.
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

/// Several threads make benchmarks; one of them replays, too: replays have the node alone.
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

}  // namespace

std::string run_night(const NightOptions& options, const OnProgress& on_progress) {
  const std::unique_ptr<Connection> connection = open_fleet(options.url, Opening::kExisting);
  const ObjectStore store(options.store);
  on_progress({"looking at the jobs' files", 0, 0});
  const std::int64_t night = plan_night(*connection, store, options);
  work_here(*connection, options, night, {kGenerateWork, kReplayWork}, on_progress);
  return finish_night(*connection, night, options, on_progress);
}

bool run_worker(const NightOptions& options, const std::vector<std::string>& kinds,
                const OnProgress& on_progress) {
  const std::unique_ptr<Connection> connection = open_fleet(options.url, Opening::kExisting);
  const ObjectStore store(options.store);
  if (!open_night(*connection)) {
    return false;
  }
  const std::int64_t night = plan_night(*connection, store, options);
  work_here(*connection, options, night, kinds, on_progress);
  return true;
}

std::string run_night_elsewhere(const NightOptions& options, const std::function<void()>& submit) {
  const std::unique_ptr<Connection> connection = open_fleet(options.url, Opening::kExisting);
  const ObjectStore store(options.store);
  const std::int64_t night = plan_night(*connection, store, options);
  submit();
  return finish_night(*connection, night, options, [](const NightProgress&) {});
}

}  // namespace understudy::fleet
