#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/program.h"
#include "et_schema/report.h"
#include "replayer/bound.h"

namespace understudy::replayer {

/// When operators are issued.
struct Pace {
  enum class Kind : std::uint8_t {
    kAsap,      ///< each as soon as the one before it is done: what the hardware can do
    kRecorded,  ///< none before its recorded offset from the step's start: the host's gaps stay
    kScaled     ///< the same with every gap times `factor`: a faster or a slower host
  };
  Kind kind = Kind::kAsap;
  double factor = 1;
  bool operator==(const Pace&) const = default;
};

/// "asap", "recorded" or "scaled:F" with F ≥ 0. Null for anything else.
[[nodiscard]] std::optional<Pace> parse_pace(std::string_view text);
/// What parse_pace reads.
[[nodiscard]] std::string to_text(const Pace& pace);

/// Recorded time as another host would have it: while any of the operators ran, time passes as
/// recorded; between them, `gap_factor` times as fast. Intervals may overlap (threads) and lie in
/// any order.
class Timeline {
 public:
  struct Interval {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
  };
  Timeline(std::vector<Interval> busy, double gap_factor);
  /// Nanoseconds from the step's start.
  [[nodiscard]] std::int64_t at(std::int64_t recorded_ns) const;

 private:
  struct Part {
    std::int64_t recorded_ns;  ///< where it begins
    std::int64_t scaled_ns;
    bool busy;
  };
  std::vector<Part> parts_;
  double gap_factor_;
};

/// Holds operators back until it is their time. Offsets are those of the original step's host
/// timeline, from its linked profile; steps without one go on at once.
class Pacer {
 public:
  using Clock = std::chrono::steady_clock;

  /// `program` must be linked with a profile.
  Pacer(const et_schema::Program& program, const BoundProgram& bound, const Pace& pace);

  void begin_iteration();
  /// Takes over the beginning of `other`'s iteration.
  void follow(const Pacer& other) { begin_ = other.begin_; }
  /// Returns when step `index` is to be issued, at once if it is late.
  void wait(std::size_t index);
  /// Returns when the original step was over.
  void end_iteration();

  /// What was measured since begin_measuring().
  void begin_measuring();
  void report(et_schema::PaceUse& use, std::size_t iterations) const;
  /// Adds what a copy of this pacer has measured on another thread.
  void add(const Pacer& other);

 private:
  static constexpr std::int64_t kNotPaced = -1;
  /// Errors of issue times by tens of nanoseconds, the last one for all above.
  static constexpr std::int64_t kBucketNs = 10;
  static constexpr std::size_t kBuckets = 10'000;

  /// When it is `deadline`; the time then. Sleeps where there is long to go, spins at the end.
  static Clock::time_point wait_until(Clock::time_point deadline, Clock::time_point now);
  [[nodiscard]] std::optional<double> error_us(double q) const;

  std::vector<std::int64_t> deadlines_ns_;  ///< by step, from the iteration's start
  std::int64_t end_ns_ = 0;
  std::uint64_t paced_ = 0;
  Clock::time_point begin_;
  std::uint64_t on_time_ = 0;
  std::uint64_t late_ = 0;
  std::int64_t late_ns_ = 0;
  std::vector<std::uint32_t> errors_;
};

}  // namespace understudy::replayer
