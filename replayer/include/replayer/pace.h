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
    kRecorded,  ///< none sooner after the one before it than in the original: the host's gaps stay
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

/// What a pacer tells the time by and waits on. Tests have one of their own: how long a sleep or an
/// operator truly takes is not ours to foresee.
class PaceClock {
 public:
  using Source = std::chrono::steady_clock;

  PaceClock() = default;
  virtual ~PaceClock() = default;
  PaceClock(const PaceClock&) = delete;
  PaceClock& operator=(const PaceClock&) = delete;

  [[nodiscard]] virtual Source::time_point now() = 0;
  /// Returns then, or later by what the system needs to wake a thread.
  virtual void sleep_until(Source::time_point time) = 0;
  /// Between two readings of one that spins.
  virtual void pause() = 0;

  /// The machine's.
  static PaceClock& steady();
};

/// Holds operators back until it is their time: as long after the end of the operator before them
/// as in the original, by its linked profile. Steps that the profile does not show go on at once.
///
/// Times since the step's start would be another choice. They keep every operator that the original
/// met slowly (page faults, a device to wait for) as slow, and add what the replay meets slowly.
class Pacer {
 public:
  using Clock = PaceClock::Source;

  /// `program` must be linked with a profile. `own_threads`: recorded threads that run beside the
  /// others, each with gaps of its own.
  Pacer(const et_schema::Program& program, const BoundProgram& bound, const Pace& pace,
        const std::vector<std::uint64_t>& own_threads = {}, PaceClock& clock = PaceClock::steady());

  void begin_iteration();
  /// Takes over the beginning of `other`'s iteration.
  void follow(const Pacer& other) { last_end_ = other.last_end_; }
  /// Returns when step `index` is to be issued, at once if it is late.
  void wait(std::size_t index);
  /// To be called when step `index` has returned.
  void ended(std::size_t index);
  /// Returns when the original's host, too, would be done with the step.
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
  Clock::time_point wait_until(Clock::time_point deadline, Clock::time_point now);
  [[nodiscard]] std::optional<double> error_us(double q) const;

  PaceClock* clock_;
  std::vector<std::int64_t> gaps_ns_;  ///< by step, before it
  std::int64_t end_gap_ns_ = 0;        ///< behind the last one
  std::uint64_t paced_ = 0;
  Clock::time_point last_end_;  ///< of the operator before, or the iteration's begin
  std::uint64_t on_time_ = 0;
  std::uint64_t late_ = 0;
  std::int64_t late_ns_ = 0;
  std::vector<std::uint32_t> errors_;
};

}  // namespace understudy::replayer
