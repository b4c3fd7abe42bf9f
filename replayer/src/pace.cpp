#include "replayer/pace.h"

#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <thread>
#include <utility>

#include "et_schema/assert.h"

namespace understudy::replayer {
namespace {

constexpr std::string_view kScaledPrefix = "scaled:";
constexpr double kMostFactor = 1e6;
constexpr double kMicro = 1e-3;  // of a nanosecond
constexpr double kMilli = 1e-6;

/// A sleep ends so much too late at most on a free core (timer slack, waking up).
constexpr std::chrono::nanoseconds kSleepError{200'000};

/// Aliases and tensors handed out are no operators, and a wait's time is its collective's.
bool is_paced(const Step& step) {
  return step.source != nullptr && step.source->timing.has_value() &&
         (step.kind == StepKind::kCall || step.kind == StepKind::kEquivalent ||
          step.kind == StepKind::kStart);
}

/// The profiled steps are not as long as those that nothing observed: they met other page faults,
/// and an observer's cost is never known to the last. The latter are the truth for the end of the
/// step. Operators are moved forward with it, so that they can be issued in time, but not back:
/// what a longer step met, the replay meets as well, and is late by itself where it does.
double stretch_of(const et_schema::RecordedProfile& profile) {
  const bool known = profile.unprofiled_step_ns && profile.step_ns > 0;
  return known ? static_cast<double>(*profile.unprofiled_step_ns) /
                     static_cast<double>(profile.step_ns)
               : 1;
}

}  // namespace

std::optional<Pace> parse_pace(std::string_view text) {
  if (text == "asap") {
    return Pace{};
  }
  if (text == "recorded") {
    return Pace{Pace::Kind::kRecorded, 1};
  }
  if (!text.starts_with(kScaledPrefix)) {
    return std::nullopt;
  }
  text.remove_prefix(kScaledPrefix.size());
  double factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  // Written so that it refuses a NaN.
  if (!whole || !(factor >= 0 && factor <= kMostFactor)) {
    return std::nullopt;
  }
  return Pace{Pace::Kind::kScaled, factor};
}

std::string to_text(const Pace& pace) {
  switch (pace.kind) {
    case Pace::Kind::kAsap:
      return "asap";
    case Pace::Kind::kRecorded:
      return "recorded";
    case Pace::Kind::kScaled:
      return fmt::format("{}{}", kScaledPrefix, pace.factor);
  }
  UNDERSTUDY_ASSERT(false);
  return {};
}

Timeline::Timeline(std::vector<Interval> busy, double gap_factor) : gap_factor_(gap_factor) {
  std::sort(busy.begin(), busy.end(),
            [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
  std::vector<Interval> apart;
  for (const Interval& interval : busy) {
    if (!apart.empty() && interval.begin_ns <= apart.back().end_ns) {
      apart.back().end_ns = std::max(apart.back().end_ns, interval.end_ns);
    } else if (interval.end_ns > interval.begin_ns) {
      apart.push_back(interval);
    }
  }
  parts_.push_back({0, 0, false});
  for (const Interval& interval : apart) {
    parts_.push_back({interval.begin_ns, at(interval.begin_ns), true});
    parts_.push_back({interval.end_ns, at(interval.end_ns), false});
  }
}

std::int64_t Timeline::at(std::int64_t recorded_ns) const {
  const auto after = std::upper_bound(
      parts_.begin(), parts_.end(), recorded_ns,
      [](std::int64_t time_ns, const Part& part) { return time_ns < part.recorded_ns; });
  if (after == parts_.begin()) {
    return recorded_ns;
  }
  const Part& part = *std::prev(after);
  const std::int64_t inside_ns = recorded_ns - part.recorded_ns;
  return part.scaled_ns +
         (part.busy ? inside_ns : std::llround(static_cast<double>(inside_ns) * gap_factor_));
}

Pacer::Pacer(const et_schema::Program& program, const BoundProgram& bound, const Pace& pace)
    : deadlines_ns_(bound.steps.size(), kNotPaced), errors_(kBuckets) {
  UNDERSTUDY_ASSERT(program.profile.has_value());
  const double stretch = stretch_of(*program.profile);
  const auto stretched = [stretch](std::int64_t time_ns) {
    return std::llround(static_cast<double>(time_ns) * std::min(1.0, stretch));
  };
  std::vector<Timeline::Interval> busy;
  for (const Step& step : bound.steps) {
    if (is_paced(step)) {
      const et_schema::Timing& timing = *step.source->timing;
      busy.push_back({stretched(timing.start_ns), stretched(timing.start_ns + timing.host_ns)});
    }
  }
  const Timeline timeline(std::move(busy), pace.factor);
  for (std::size_t i = 0; i < bound.steps.size(); ++i) {
    if (is_paced(bound.steps[i])) {
      deadlines_ns_[i] = timeline.at(stretched(bound.steps[i].source->timing->start_ns));
      ++paced_;
    }
  }
  end_ns_ = timeline.at(std::llround(static_cast<double>(program.profile->step_ns) * stretch));
}

void Pacer::begin_iteration() {
  begin_ = Clock::now();
}

void Pacer::wait(std::size_t index) {
  const std::int64_t deadline_ns = deadlines_ns_[index];
  if (deadline_ns == kNotPaced) {
    return;
  }
  const Clock::time_point deadline = begin_ + std::chrono::nanoseconds(deadline_ns);
  const Clock::time_point now = Clock::now();
  if (now > deadline) {
    ++late_;
    late_ns_ += (now - deadline).count();
    return;
  }
  const std::int64_t error_ns = (wait_until(deadline, now) - deadline).count();
  ++on_time_;
  ++errors_[std::min(static_cast<std::size_t>(error_ns / kBucketNs), kBuckets - 1)];
}

void Pacer::end_iteration() {
  wait_until(begin_ + std::chrono::nanoseconds(end_ns_), Clock::now());
}

Pacer::Clock::time_point Pacer::wait_until(Clock::time_point deadline, Clock::time_point now) {
  if (deadline - now > 2 * kSleepError) {
    std::this_thread::sleep_until(deadline - kSleepError);
    now = Clock::now();
  }
  while (now < deadline) {
    _mm_pause();
    now = Clock::now();
  }
  return now;
}

void Pacer::begin_measuring() {
  on_time_ = 0;
  late_ = 0;
  late_ns_ = 0;
  std::fill(errors_.begin(), errors_.end(), 0);
}

void Pacer::add(const Pacer& other) {
  on_time_ += other.on_time_;
  late_ += other.late_;
  late_ns_ += other.late_ns_;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    errors_[bucket] += other.errors_[bucket];
  }
}

void Pacer::report(et_schema::PaceUse& use, std::size_t iterations) const {
  use.paced = paced_;
  use.on_time = on_time_;
  use.late = late_;
  if (iterations > 0) {
    use.late_ms = static_cast<double>(late_ns_) * kMilli / static_cast<double>(iterations);
  }
  use.error_median_us = error_us(0.5);
  use.error_p99_us = error_us(0.99);
}

/// The upper end of the bucket that holds quantile q.
std::optional<double> Pacer::error_us(double q) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(on_time_)));
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += errors_[bucket];
    if (seen >= wanted && seen > 0) {
      return static_cast<double>((static_cast<std::int64_t>(bucket) + 1) * kBucketNs) * kMicro;
    }
  }
  return std::nullopt;
}

}  // namespace understudy::replayer
