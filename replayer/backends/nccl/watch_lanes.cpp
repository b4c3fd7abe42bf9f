#include "watch_lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace understudy::backends {
namespace {

/// Interval of looking at lanes; shorter if the time limit is short.
constexpr double kLookIntervalS = 0.25;
constexpr double kLooksWithinLimit = 8;
constexpr auto kPollInterval = std::chrono::microseconds(50);
/// Calls take longer than this only if NCCL or the driver waits for the device.
constexpr auto kLongestCalls = std::chrono::seconds(1);

}  // namespace

LaneWatch::LaneWatch(const CudaDriver& cuda, const NcclLibrary& nccl, int world_rank,
                     double time_limit_s)
    : cuda_(cuda),
      nccl_(nccl),
      context_(cuda.current_context()),
      world_rank_(world_rank),
      time_limit_s_(time_limit_s),
      thread_([this] { run(); }) {}

LaneWatch::~LaneWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void LaneWatch::add(Lane& lane) {
  const std::lock_guard lock(mutex_);
  lanes_.emplace_back().lane = &lane;
}

void LaneWatch::check() const {
  if (has_found_) {
    const std::lock_guard lock(mutex_);
    throw *found_;
  }
}

// begin_calls() and fail() each write their own flag before they read the other's. So either
// begin_calls() sees the failure, or fail() sees the calls.
void LaneWatch::begin_calls() const {
  is_in_calls_ = true;
  if (has_found_) {
    is_in_calls_ = false;
    check();
  }
}

void LaneWatch::wait_until_ready(const Lane& lane) {
  const Clock::time_point begin = Clock::now();
  while (true) {
    {
      const Calls calls(*this);
      if (lane.is_ready()) {
        return;
      }
    }
    if (Clock::now() - begin > std::chrono::duration<double>(time_limit_s_)) {
      const std::lock_guard lock(mutex_);
      fail(et_schema::run_failed(
          "GPUs did not connect",
          {.rank = world_rank_,
           .field = lane.name(),
           .expected = fmt::format("all its ranks within {:g} s", time_limit_s_.load()),
           .got = "not all",
           .hint = "A rank may have ended. NCCL_DEBUG=INFO in the environment has NCCL say what it "
                   "waits for; a slow network needs a higher time limit (--timeout)."}));
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

void LaneWatch::interrupt() {
  const std::lock_guard lock(mutex_);
  fail(et_schema::run_failed("communications were interrupted", {.rank = world_rank_}));
}

void LaneWatch::run() {
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    const double interval_s = std::min(kLookIntervalS, time_limit_s_ / kLooksWithinLimit);
    ended_.wait_for(lock, std::chrono::duration<double>(interval_s));
    for (std::size_t i = 0; i < lanes_.size() && !has_found_ && !is_ending_; ++i) {
      try {
        cuda_.use(context_);
        if (std::optional<et_schema::Error> error = look(lanes_[i], Clock::now())) {
          fail(std::move(*error));
        }
      } catch (const et_schema::Error& error) {  // from the driver
        fail(error);
      }
    }
  }
}

std::optional<et_schema::Error> LaneWatch::look(Watched& watched, Clock::time_point now) const {
  const Lane& lane = *watched.lane;
  const std::uint64_t calls = lane.calls();
  const std::string field =
      calls == 0 ? lane.name()
                 : fmt::format("{}, call {} of {}", et_schema::to_string(lane.last_kind()), calls,
                               lane.name());
  if (const std::string failure = nccl_.failure_of(lane.comm()); !failure.empty()) {
    return et_schema::run_failed(
        "NCCL failed", {.rank = world_rank_,
                        .field = field,
                        .expected = "success",
                        .got = failure,
                        .hint = "Another rank may have ended. NCCL_DEBUG=INFO in the environment "
                                "has NCCL say what it does."});
  }
  if (cuda_.is_idle(lane.stream())) {
    watched.still_since.reset();
    return std::nullopt;
  }
  if (!watched.still_since || watched.calls != calls) {
    watched.calls = calls;
    watched.still_since = now;
  }
  const std::chrono::duration<double> still = now - *watched.still_since;
  if (still.count() < time_limit_s_) {
    return std::nullopt;
  }
  return et_schema::run_failed(
      "a communication between GPUs did not end",
      {.rank = world_rank_,
       .field = field,
       .expected = fmt::format("an end within {:g} s", time_limit_s_.load()),
       .got = "none",
       .hint = "a rank that computes for longer than this needs a higher time limit (--timeout); "
               "one that has died, or waits in another call, never comes"});
}

// The caller must hold the lock.
void LaneWatch::fail(et_schema::Error error) {
  if (has_found_) {
    return;
  }
  found_ = std::move(error);
  has_found_ = true;
  const Clock::time_point latest = Clock::now() + kLongestCalls;
  while (is_in_calls_ && Clock::now() < latest) {
    std::this_thread::sleep_for(kPollInterval);
  }
  std::vector<NcclComm> comms;
  for (const Watched& watched : lanes_) {
    if (NcclComm comm = watched.lane->give_up()) {
      comms.push_back(comm);
    }
  }
  nccl_.abort(comms);
}

}  // namespace understudy::backends
