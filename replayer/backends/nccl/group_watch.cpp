#include "group_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

namespace understudy::backends {
namespace {

constexpr auto kLookInterval = std::chrono::milliseconds(50);
/// Calls take longer than this, even on a busy host, only if NCCL or the driver waits for the
/// device.
constexpr auto kLongestCall = std::chrono::seconds(3);

}  // namespace

GroupWatch::GroupWatch(int world_rank, double time_limit_s)
    : world_rank_(world_rank), time_limit_s_(time_limit_s), thread_([this] { run(); }) {}

GroupWatch::~GroupWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void GroupWatch::add(Group group) {
  const std::lock_guard lock(mutex_);
  groups_.push_back(std::move(group));
}

void GroupWatch::set_time_limit(double seconds) {
  time_limit_s_ = seconds;
  const std::lock_guard lock(mutex_);
  for (const Group& group : groups_) {
    group->setTimeout(time_limit());
  }
}

std::chrono::milliseconds GroupWatch::time_limit() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(time_limit_s_));
}

void GroupWatch::check() const {
  if (has_found_) {
    throw et_schema::Error(*found_);
  }
}

void GroupWatch::interrupt() {
  const std::lock_guard lock(mutex_);
  fail(et_schema::run_failed("communications were interrupted", {.rank = world_rank_}));
}

void GroupWatch::run() {
  std::unique_lock lock(mutex_);
  while (!is_ending_ && !has_found_) {
    ended_.wait_for(lock, kLookInterval);
    for (std::size_t i = 0; i < groups_.size() && !has_found_; ++i) {
      const c10d::ErrorType error = groups_[i]->getError();
      if (error == c10d::ErrorType::TIMEOUT) {
        fail(et_schema::run_failed(
            "a communication between GPUs did not end",
            {.rank = world_rank_,
             .field = open_calls(),
             .expected = fmt::format("an end within {:g} s", time_limit_s_.load()),
             .got = "none",
             .hint = "a rank that computes for longer than this needs a higher time limit "
                     "(--timeout); one that has died, or waits in another call, never comes"}));
      } else if (error != c10d::ErrorType::SUCCESS) {
        fail(failed("an error that its watchdog has reported above"));
      }
    }
  }
}

et_schema::Error GroupWatch::failed(std::string got) const {
  return et_schema::run_failed(
      "NCCL failed", {.rank = world_rank_,
                      .field = open_calls(),
                      .expected = "success",
                      .got = std::move(got),
                      .hint = "Another rank may have ended. NCCL_DEBUG=INFO in the environment has "
                              "NCCL say what it does."});
}

std::string GroupWatch::open_calls() {
  using Json = nlohmann::json;
  constexpr std::size_t kMost = 4;
  const Json record = Json::parse(c10d::dump_nccl_trace_json(true, /*onlyActive=*/true), nullptr,
                                  /*allow_exceptions=*/false);
  const Json groups = record.value("pg_status", Json::object());
  std::vector<std::string> calls;
  for (const Json& entry : record.value("entries", Json::array())) {
    const bool is_message = entry.value("is_p2p", false);
    const int number = entry.value(is_message ? "p2p_seq_id" : "collective_seq_id", 0);
    // What was coalesced stays open there: only its whole ends.
    const Json status = groups.value(std::to_string(entry.value("pg_id", 0)), Json::object());
    if (!is_message && number <= std::stoi(status.value("last_completed_collective", "-1"))) {
      continue;
    }
    calls.push_back(
        fmt::format("{}, {} {} of group '{}'", entry.value("profiling_name", "a call"),
                    is_message ? "message" : "call", number,
                    entry.value("process_group", Json::array({"", ""})).at(1).get<std::string>()));
  }
  calls.erase(calls.begin(),
              calls.end() - static_cast<std::ptrdiff_t>(std::min(calls.size(), kMost)));
  return fmt::format("{}", fmt::join(calls, "; "));
}

// The caller must hold the lock.
void GroupWatch::fail(et_schema::Error error) {
  if (has_found_) {
    return;
  }
  found_ = std::move(error);
  has_found_ = true;
  const bool is_free = issuing_.try_lock_for(kLongestCall);
  // Together: the device on which one waits for its abort may stand still in another.
  std::vector<std::thread> aborts;
  for (const Group& group : groups_) {
    aborts.emplace_back([&group] {
      try {
        group->abort();
      } catch (const std::exception&) {  // it does not end either: the process will
      }
    });
  }
  for (std::thread& abort : aborts) {
    abort.join();
  }
  if (is_free) {
    issuing_.unlock();
  }
}

}  // namespace understudy::backends
