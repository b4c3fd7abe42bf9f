#include "replayer/pace.h"

#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
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

class SteadyClock final : public PaceClock {
 public:
  [[nodiscard]] Source::time_point now() override { return Source::now(); }
  void sleep_until(Source::time_point time) override { std::this_thread::sleep_until(time); }
  void pause() override { _mm_pause(); }
};

/// Recorded time of one thread's operators that is in none of them.
class Gaps {
 public:
  explicit Gaps(double factor) : factor_(factor) {}
  /// Before an operator that begins then.
  [[nodiscard]] std::int64_t before(std::int64_t begin_ns) const {
    const std::int64_t gap_ns = std::max<std::int64_t>(begin_ns - last_end_ns_, 0);
    return std::llround(static_cast<double>(gap_ns) * factor_);
  }
  void pass(const et_schema::Timing& timing) {
    last_end_ns_ = std::max(last_end_ns_, timing.start_ns + timing.host_ns);
  }

 private:
  double factor_;
  std::int64_t last_end_ns_ = 0;
};

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

PaceClock& PaceClock::steady() {
  static SteadyClock clock;
  return clock;
}

Pacer::Pacer(const et_schema::Program& program, const BoundProgram& bound, const Pace& pace,
             const std::vector<std::uint64_t>& own_threads, PaceClock& clock)
    : clock_(&clock), gaps_ns_(bound.steps.size(), kNotPaced), errors_(kBuckets) {
  UNDERSTUDY_ASSERT(program.profile.has_value());
  Gaps of_caller(pace.factor);
  std::map<std::uint64_t, Gaps> of_threads;
  for (const std::uint64_t thread : own_threads) {
    of_threads.emplace(thread, Gaps(pace.factor));
  }
  for (std::size_t i = 0; i < bound.steps.size(); ++i) {
    const Step& step = bound.steps[i];
    if (!is_paced(step)) {
      continue;
    }
    const auto own = of_threads.find(step.source->thread);
    Gaps& gaps = own == of_threads.end() ? of_caller : own->second;
    gaps_ns_[i] = gaps.before(step.source->timing->start_ns);
    gaps.pass(*step.source->timing);
    ++paced_;
  }
  end_gap_ns_ = of_caller.before(program.profile->step_ns);
}

void Pacer::begin_iteration() {
  last_end_ = clock_->now();
}

void Pacer::wait(std::size_t index) {
  const std::int64_t gap_ns = gaps_ns_[index];
  if (gap_ns == kNotPaced) {
    return;
  }
  const Clock::time_point deadline = last_end_ + std::chrono::nanoseconds(gap_ns);
  const Clock::time_point now = clock_->now();
  if (now > deadline) {
    ++late_;
    late_ns_ += (now - deadline).count();
    return;
  }
  const std::int64_t error_ns = (wait_until(deadline, now) - deadline).count();
  ++on_time_;
  ++errors_[std::min(static_cast<std::size_t>(error_ns / kBucketNs), kBuckets - 1)];
}

void Pacer::ended(std::size_t index) {
  if (gaps_ns_[index] != kNotPaced) {
    last_end_ = clock_->now();
  }
}

void Pacer::end_iteration() {
  wait_until(last_end_ + std::chrono::nanoseconds(end_gap_ns_), clock_->now());
}

Pacer::Clock::time_point Pacer::wait_until(Clock::time_point deadline, Clock::time_point now) {
  if (deadline - now > 2 * kSleepError) {
    clock_->sleep_until(deadline - kSleepError);
    now = clock_->now();
  }
  while (now < deadline) {
    clock_->pause();
    now = clock_->now();
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
