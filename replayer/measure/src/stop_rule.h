#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replayer/backends/interface/job.h"
#include "replayer/options/monitor.h"

namespace understudy::replayer {

/// Limits of the measured iterations; an unset limit does not apply.
struct StopLimits {
  std::optional<int> iterations;
  std::optional<double> seconds;
  std::optional<double> until_percent;  ///< half width of the median's 95 % interval
};

/// Decides after each iteration, for all ranks alike, if it was the last.
class StopRule {
 public:
  /// The interval is first checked after this many iterations, then whenever their number has grown
  /// by a quarter: each check may stop on an interval that is narrow by chance.
  static constexpr std::size_t kFirstCheck = 20;

  StopRule(const StopLimits& limits, backends::Job& job, const Monitor& monitor)
      : limits_(limits), job_(job), monitor_(monitor) {}

  /// Must be called by all ranks with equally many samples, also before the first iteration.
  /// `spent_s`: the sum of this rank's samples.
  [[nodiscard]] bool is_last(const std::vector<double>& samples_ms, double spent_s);
  /// Returns true if `mine` is true on any rank; also checks for signals. Must be called by all
  /// ranks together.
  [[nodiscard]] bool any_rank(bool mine);
  /// Records that an iteration was abandoned because of the signal.
  void interrupt();
  [[nodiscard]] bool is_interrupted() const { return signal_ != 0; }
  /// Returns "iterations", "seconds", "interval", "SIGINT" or "SIGTERM".
  [[nodiscard]] std::string ended_by() const;

 private:
  enum class End : std::uint8_t { kNone, kIterations, kSeconds, kInterval };
  [[nodiscard]] End end_of(const std::vector<double>& samples_ms, double spent_s);
  [[nodiscard]] bool is_narrow(const std::vector<double>& samples_ms);

  StopLimits limits_;
  backends::Job& job_;
  const Monitor& monitor_;
  End end_ = End::kNone;
  int signal_ = 0;
  std::size_t next_check_ = kFirstCheck;  ///< number of samples at the interval's next check
  std::vector<double> of_job_;            ///< the slowest rank's samples checked so far
};

}  // namespace understudy::replayer
