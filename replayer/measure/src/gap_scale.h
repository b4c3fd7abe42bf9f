#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/report.h"
#include "replayer/run/pace.h"

namespace understudy::replayer {

/// By how much this host is slower than the original's was, from iteration to iteration: the ratio
/// of their probes.
class GapScale {
 public:
  /// Null where the original's host was not probed, or with another kind of probe.
  [[nodiscard]] static std::unique_ptr<GapScale> make(const et_schema::RecordedProfile& profile,
                                                      const Pace& pace);

  /// `probe_us`: measures this host.
  GapScale(double recorded_us, const Pace& pace, std::function<double()> probe_us);

  /// Probes the host, before an iteration; what its gaps are to be multiplied by.
  [[nodiscard]] double next();
  void begin_measuring();
  /// Of the iterations since: both probes, and what gaps were multiplied by.
  void report(et_schema::PaceUse& use) const;

 private:
  /// The host's speed is the median of this many probes: a single one may be interrupted.
  static constexpr std::size_t kWindow = 5;

  double recorded_us_;
  Pace pace_;
  std::function<double()> probe_us_;
  std::deque<double> window_us_;
  std::vector<double> seen_us_;
  std::vector<double> factors_;
};

}  // namespace understudy::replayer
