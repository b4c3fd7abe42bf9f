#include "replayer/run/pace.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <span>
#include <thread>
#include <utility>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "et_schema/base/spin_pause.h"

namespace understudy::replayer {
namespace {

using et_schema::DeviceWait;

constexpr double kMicro = 1e-3;  // microseconds per nanosecond
constexpr double kMilli = 1e-6;
constexpr double kMedian = 0.5;
constexpr double kHigh = 0.99;

/// Smaller delays do not matter for a step.
constexpr std::int64_t kLeastLateNs = 1000;

/// On a free core a sleep ends at most this late (timer slack, wake-up).
constexpr std::chrono::nanoseconds kSleepError{200'000};

/// Returns true if a step is paced. Aliases and pre-made tensors are not operators, and a wait's
/// time is its collective's.
bool is_paced(const Step& step) {
  return step.source != nullptr && step.source->timing.has_value() &&
         (step.kind == StepKind::kCall || step.kind == StepKind::kSubstitute ||
          step.kind == StepKind::kStart);
}

class SteadyPaceClock final : public PaceClock {
 public:
  TimePoint now() override { return std::chrono::steady_clock::now(); }
  TimePoint wait_until(TimePoint deadline, TimePoint now) override {
    if (deadline - now > 2 * kSleepError) {
      std::this_thread::sleep_until(deadline - kSleepError);
      now = std::chrono::steady_clock::now();
    }
    while (now < deadline) {
      et_schema::spin_pause();
      now = std::chrono::steady_clock::now();
    }
    return now;
  }
};

}  // namespace

PaceClock& steady_pace_clock() {
  static SteadyPaceClock clock;
  return clock;
}

/// The gaps between one thread's recorded operators.
class Pacer::Gaps {
 public:
  explicit Gaps(std::span<const DeviceWait> waits) : waits_(waits) {}

  struct Gap {
    std::int64_t host_ns = 0;
    /// Time that the original waited for its device within the gap.
    std::int64_t wait_ns = 0;
    std::uint64_t waits = 0;  ///< the number of these waits
    /// Replayed as one wait at the place of the first.
    std::optional<Wait> wait = {};
  };
  /// Returns the gap before work that begins at `begin_ns`.
  [[nodiscard]] Gap before(std::int64_t begin_ns) {
    Gap gap;
    while (!waits_.empty() && waits_.front().start_ns < last_end_ns_) {
      waits_ = waits_.subspan(1);  // the wait is part of an operator
    }
    for (; !waits_.empty() && waits_.front().start_ns < begin_ns; waits_ = waits_.subspan(1)) {
      const DeviceWait& wait = waits_.front();
      gap.wait = {gap.wait ? gap.wait->before_ns : wait.start_ns - last_end_ns_,
                  gap.wait ? std::min(gap.wait->waits_for, wait.waits_for) : wait.waits_for,
                  wait.start_ns + wait.host_ns,
                  {}};
      gap.wait_ns =
          std::min(gap.wait_ns, begin_ns) + std::min(wait.host_ns, begin_ns - wait.start_ns);
      ++gap.waits;
    }
    const std::int64_t whole_ns = std::max<std::int64_t>(begin_ns - last_end_ns_, 0);
    gap.wait_ns = std::min(gap.wait_ns, whole_ns);
    gap.host_ns = whole_ns - gap.wait_ns;
    return gap;
  }
  void pass(const et_schema::Timing& timing) {
    last_end_ns_ = std::max(last_end_ns_, timing.start_ns + timing.host_ns);
  }

  std::int64_t waits_ns = 0;

 private:
  std::span<const DeviceWait> waits_;
  std::int64_t last_end_ns_ = 0;
};

/// The recorded ends of the steps' device work, estimated from issue times and durations. Work of a
/// stream is sequential.
class Pacer::RecordedWork {
 public:
  void add(std::size_t step, const et_schema::Timing& timing) {
    if (timing.launches > 0) {
      std::int64_t& stream_ns = streams_ns_[timing.stream.value_or(0)];
      stream_ns = std::max(stream_ns, timing.start_ns + timing.host_ns / 2) + timing.device_ns;
      ends_.push_back({step, stream_ns});
    }
  }
  /// Returns the step whose work ended closest to the end of a wait. The profile does not show
  /// where the wait's event was recorded.
  [[nodiscard]] std::optional<std::size_t> ended_at(std::int64_t time_ns) const {
    const auto nearest = std::ranges::min_element(
        ends_, {}, [&](const End& end) { return std::abs(end.end_ns - time_ns); });
    return nearest == ends_.end() ? std::nullopt : std::optional(nearest->step);
  }

 private:
  struct End {
    std::size_t step;
    std::int64_t end_ns;
  };
  std::map<std::int64_t, std::int64_t> streams_ns_;
  std::vector<End> ends_;
};

Pacer::Pacer(const et_schema::Program& program, const BoundProgram& bound, PacerOptions options)
    : options_(std::move(options)),
      issues_(bound.steps.size()),
      is_waited_for_(bound.steps.size()) {
  UNDERSTUDY_ASSERT(program.profile.has_value());
  RecordedWork work;
  // The profile shows only the waits of the step's own thread.
  const std::vector<DeviceWait> waits = et_schema::waits_between(*program.profile);
  Gaps of_caller(waits);
  std::map<std::uint64_t, Gaps> of_threads;
  for (const std::uint64_t thread : options_.own_threads) {
    of_threads.emplace(thread, Gaps({}));
  }
  for (std::size_t i = 0; i < bound.steps.size(); ++i) {
    const Step& step = bound.steps[i];
    if (!is_paced(step)) {
      continue;
    }
    const auto own = of_threads.find(step.source->thread);
    Gaps& gaps = own == of_threads.end() ? of_caller : own->second;
    issues_[i] = issue_at(gaps, step.source->timing->start_ns, work);
    gaps.pass(*step.source->timing);
    work.add(i, *step.source->timing);
    ++paced_;
  }
  end_ = issue_at(of_caller, program.profile->step_ns, work);
}

Pacer::Issue Pacer::issue_at(Gaps& gaps, std::int64_t start_ns, const RecordedWork& work) {
  const Gaps::Gap gap = gaps.before(start_ns);
  gaps.waits_ns += gap.wait_ns;
  device_waits_ += gap.waits;
  Issue issue{gap.host_ns, start_ns, gaps.waits_ns};
  if (gap.wait) {
    issue.wait = waits_.size();
    waits_.push_back(*gap.wait);
    Wait& wait = waits_.back();
    if (wait.waits_for == DeviceWait::For::kEvent) {
      wait.behind = work.ended_at(wait.end_ns);
      if (wait.behind) {
        is_waited_for_[*wait.behind] = true;
      }
    }
  }
  return issue;
}

Pacer::TimePoint Pacer::planned(const Issue& issue) const {
  const std::int64_t left_out_ns = options_.wait_for_device ? 0 : issue.waits_ns;
  return begin_ + std::chrono::nanoseconds(issue.start_ns - left_out_ns);
}

void Pacer::begin_iteration() {
  begin_ = last_end_ = options_.clock->now();
  issue_errors_ns_ = 0;
}

void Pacer::follow(const Pacer& other) {
  begin_ = last_end_ = other.begin_;
  issue_errors_ns_ = 0;
}

void Pacer::wait(std::size_t index) {
  const Issue& issue = issues_[index];
  if (issue.gap_ns == kNotPaced) {
    return;
  }
  const std::int64_t gap_ns = wait_for_device(issue);
  const TimePoint deadline = last_end_ + std::chrono::nanoseconds(gap_ns);
  TimePoint now = options_.clock->now();
  if (now > deadline) {
    ++seen_.unready;
    seen_.unready_ns += (now - deadline).count();
  } else {
    now = options_.clock->wait_until(deadline, now);
    seen_.errors_ns.add((now - deadline).count());
  }
  issue_errors_ns_ += (now - deadline).count();
  const std::int64_t drift_ns = (now - planned(issue)).count();
  seen_.drifts_ns.add(drift_ns);
  const std::int64_t late_ns = drift_ns - issue_errors_ns_;
  if (late_ns > kLeastLateNs) {
    ++seen_.late;
    seen_.late_ns += late_ns;
  }
}

std::int64_t Pacer::wait_for_device(const Issue& issue) {
  if (issue.wait == kNoWait || !options_.wait_for_device) {
    return issue.gap_ns;
  }
  const Wait& wait = waits_[issue.wait];
  const std::int64_t before_ns = std::min(wait.before_ns, issue.gap_ns);
  const TimePoint begin = options_.clock->wait_until(
      last_end_ + std::chrono::nanoseconds(before_ns), options_.clock->now());
  options_.wait_for_device(wait.waits_for, wait.behind);
  last_end_ = options_.clock->now();
  seen_.device_wait_ns += (last_end_ - begin).count();
  return issue.gap_ns - before_ns;
}

void Pacer::ended(std::size_t index) {
  if (is_waited_for_[index] && options_.record_event) {
    options_.record_event(index);
  }
  if (issues_[index].gap_ns != kNotPaced) {
    last_end_ = options_.clock->now();
  }
}

void Pacer::end_iteration() {
  const std::int64_t gap_ns = wait_for_device(end_);
  const TimePoint end = options_.clock->wait_until(last_end_ + std::chrono::nanoseconds(gap_ns),
                                                   options_.clock->now());
  seen_.end_drifts_ns.add((end - planned(end_)).count());
}

void Pacer::add(const Pacer& other) {
  seen_.unready += other.seen_.unready;
  seen_.unready_ns += other.seen_.unready_ns;
  seen_.late += other.seen_.late;
  seen_.late_ns += other.seen_.late_ns;
  seen_.device_wait_ns += other.seen_.device_wait_ns;
  seen_.errors_ns.add(other.seen_.errors_ns);
  seen_.drifts_ns.add(other.seen_.drifts_ns);
  seen_.end_drifts_ns.add(other.seen_.end_drifts_ns);
}

void Pacer::report(et_schema::PaceUse& use, std::size_t iterations) const {
  const auto us = [](const std::optional<double>& ns) {
    return ns ? std::optional(*ns * kMicro) : std::nullopt;
  };
  use.paced = paced_;
  use.on_time = seen_.errors_ns.count();
  use.unready = seen_.unready;
  use.late = seen_.late;
  use.device_waits = device_waits_;
  if (device_waits_ > 0) {
    use.device_wait_recorded_ms = static_cast<double>(end_.waits_ns) * kMilli;
  }
  use.error_median_us = us(seen_.errors_ns.quantile(kMedian));
  use.error_p99_us = us(seen_.errors_ns.quantile(kHigh));
  use.drift_median_us = us(seen_.drifts_ns.quantile(kMedian));
  use.drift_p99_us = us(seen_.drifts_ns.quantile_of_magnitude(kHigh));
  use.drift_end_us = us(seen_.end_drifts_ns.quantile(kMedian));
  if (seen_.late > 0) {
    use.late_ms = static_cast<double>(seen_.late_ns) * kMilli / static_cast<double>(seen_.late);
  }
  if (iterations > 0) {
    const double scale = kMilli / static_cast<double>(iterations);
    use.unready_ms = static_cast<double>(seen_.unready_ns) * scale;
    if (options_.wait_for_device && device_waits_ > 0) {
      use.device_wait_ms = static_cast<double>(seen_.device_wait_ns) * scale;
    }
  }
}

void check_pace(const et_schema::Program& program, Pace pace) {
  if (pace == Pace::kRecorded && !program.profile) {
    throw et_schema::usage_error(
        "the benchmark does not say when the original issued its operators",
        {.field = "--pace",
         .expected = "asap, or a benchmark that a profile was linked to",
         .got = std::string(to_string(pace)),
         .hint = "Make the benchmark anew with `understudy generate --profile`, from a Kineto "
                 "profile of the same step; a folder that scripts/capture wrote holds one."});
  }
}

}  // namespace understudy::replayer
