#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/report.h"
#include "replayer/bind/bound.h"
#include "replayer/options/options.h"
#include "replayer/run/log_histogram.h"

namespace understudy::replayer {

/// Throws Error (usage) if the pace needs recorded times and the benchmark has none.
void check_pace(const et_schema::Program& program, Pace pace);

/// A clock that can wait. Tests use one of their own.
class PaceClock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  PaceClock() = default;
  PaceClock(const PaceClock&) = delete;
  PaceClock& operator=(const PaceClock&) = delete;
  virtual ~PaceClock() = default;

  virtual TimePoint now() = 0;
  /// Waits until `deadline`; returns the time after the wait.
  virtual TimePoint wait_until(TimePoint deadline, TimePoint now) = 0;
};

/// The steady clock. Sleeps if the deadline is far away, and spins at the end.
[[nodiscard]] PaceClock& steady_pace_clock();

struct PacerOptions {
  /// Recorded threads that run concurrently, each with its own gaps.
  std::vector<std::uint64_t> own_threads = {};
  /// Waits for the device. For a wait for an event, the number is that of the step after which the
  /// event was recorded, if known: only the work issued up to this step must be done. Null on the
  /// CPU: the recorded time of such waits is then left out.
  std::function<void(et_schema::DeviceWait::For, std::optional<std::size_t>)> wait_for_device = {};
  /// Records the event of a later wait, after the step with this number.
  std::function<void(std::size_t)> record_event = {};
  PaceClock* clock = &steady_pace_clock();
};

/// Delays each operator so that it follows the end of the operator before it by the original's gap,
/// from the linked profile. Steps that the profile does not show are issued at once. Time that the
/// original's host waited for the device is not part of a gap; the replay waits for the device
/// instead.
///
/// The alternative, times since the step's start, would keep the original's slow operators slow
/// (page faults, waits for a device) and add the replay's own delays.
class Pacer {
 public:
  using TimePoint = PaceClock::TimePoint;

  /// `program` must be linked with a profile.
  Pacer(const et_schema::Program& program, const BoundProgram& bound, PacerOptions options);

  void begin_iteration();
  /// Continues the iteration that `other` has begun.
  void follow(const Pacer& other);
  /// Waits until step `index` must be issued; returns at once if its gap is over.
  void wait(std::size_t index);
  /// Must be called when step `index` has returned.
  void ended(std::size_t index);
  /// Waits until the original's host would also have finished the step.
  void end_iteration();

  /// Restarts measuring; report() returns the figures since then.
  void begin_measuring() { seen_ = Seen(); }
  void report(et_schema::PaceUse& use, std::size_t iterations) const;
  /// Adds the figures of a copy of this pacer on another thread.
  void add(const Pacer& other);

 private:
  static constexpr std::int64_t kNotPaced = -1;
  static constexpr std::size_t kNoWait = ~std::size_t{0};

  /// The recorded time before an operator, or before the step's end.
  struct Issue {
    std::int64_t gap_ns = kNotPaced;  ///< since the operator before it, without waits
    std::int64_t start_ns = 0;        ///< since the step's start
    std::int64_t waits_ns = 0;        ///< Σ recorded waits before it
    std::size_t wait = kNoWait;       ///< index in waits_ of the wait within the gap
  };
  struct Wait {
    std::int64_t before_ns = 0;  ///< part of the gap before the wait
    et_schema::DeviceWait::For waits_for = et_schema::DeviceWait::For::kDevice;
    std::int64_t end_ns = 0;  ///< since the step's start
    /// For a wait for an event: the step after which the event was recorded.
    std::optional<std::size_t> behind;
  };
  class RecordedWork;
  struct Seen {
    std::uint64_t unready = 0;
    std::int64_t unready_ns = 0;
    std::uint64_t late = 0;
    std::int64_t late_ns = 0;
    std::int64_t device_wait_ns = 0;
    LogHistogram errors_ns;
    LogHistogram drifts_ns;
    LogHistogram end_drifts_ns;
  };
  class Gaps;

  [[nodiscard]] Issue issue_at(Gaps& gaps, std::int64_t start_ns, const RecordedWork& work);
  /// Returns the issue time that would follow if all earlier operators had taken their recorded
  /// times.
  [[nodiscard]] TimePoint planned(const Issue& issue) const;
  /// Waits for the device if the original did; returns the rest of the gap.
  [[nodiscard]] std::int64_t wait_for_device(const Issue& issue);

  PacerOptions options_;
  std::vector<Issue> issues_;  ///< by step
  Issue end_;
  std::vector<Wait> waits_;
  std::vector<bool> is_waited_for_;  ///< by step
  std::uint64_t device_waits_ = 0;
  std::uint64_t paced_ = 0;
  TimePoint begin_;
  TimePoint last_end_;                ///< end of the previous operator, or begin of the iteration
  std::int64_t issue_errors_ns_ = 0;  ///< Σ of delays that issuing itself added in this iteration
  Seen seen_;
};

}  // namespace understudy::replayer
