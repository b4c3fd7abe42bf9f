#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replayer/backends/interface/job.h"
#include "replayer/options/monitor.h"

namespace understudy::replayer {

/// What ends the measured iterations; all that is absent does not.
struct StopLimits {
  std::optional<int> iterations;
  std::optional<double> seconds;
  std::optional<double> until_percent;  ///< half width of the median's 95 % interval
};

/// Decides behind each iteration, on all ranks alike, whether it was the last.
class StopRule {
 public:
  /// The interval is first checked after this many iterations, then whenever their number has grown
  /// by a quarter: each look is another chance to stop on an interval that is narrow by luck.
  static constexpr std::size_t kFirstCheck = 20;

  StopRule(const StopLimits& limits, backends::Job& job, const Monitor& monitor)
      : limits_(limits), job_(job), monitor_(monitor) {}

  /// All ranks call it with as many samples, before the first iteration too. `spent_s`: the sum of
  /// this rank's.
  [[nodiscard]] bool is_last(const std::vector<double>& samples_ms, double spent_s);
  /// Whether `mine` is true on any rank; looks for signals on the way. All ranks call it together.
  [[nodiscard]] bool any_rank(bool mine);
  /// An iteration was given up because of the signal.
  void interrupt();
  [[nodiscard]] bool is_interrupted() const { return signal_ != 0; }
  /// "iterations", "seconds", "interval", "SIGINT", "SIGTERM".
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
  std::size_t next_check_ = kFirstCheck;  ///< samples at which the interval is looked at next
  std::vector<double> of_job_;            ///< the slowest rank's samples, as far as looked at
};

}  // namespace understudy::replayer
