#pragma once

#include <cstdint>
#include <vector>

#include "predictor/simulate/simulate.h"

namespace understudy::predictor {

/// What a rank does at a moment, as a breakdown tells it.
struct Doing {
  std::uint32_t operators = 0;       ///< on streams
  std::uint32_t communications = 0;  ///< on streams, those that wait for other ranks among them
  std::uint32_t hosts = 0;           ///< threads that are not waiting
  /// Of the time in which operators are on streams, the share in which all of them wait for
  /// launches.
  double unlaunched_share = 0;
};

/// Adds up a rank's time.
class Accounts {
 public:
  /// Of a rank on a device: what it has done since the last call. Before each change of `doing`.
  void pass(const Doing& doing, std::int64_t now_ns);

  /// Of a rank on a CPU, for its step's own thread.
  void operate(std::int64_t gap_ns, std::int64_t host_ns) {
    sums_.host_bound_ns += static_cast<double>(gap_ns);
    sums_.compute_ns += static_cast<double>(host_ns);
  }
  void wait(std::int64_t ns, bool for_communication) {
    (for_communication ? sums_.exposed_communication_ns : sums_.idle_ns) += static_cast<double>(ns);
  }

  /// Before all else.
  void start(std::int64_t now_ns) { last_ns_ = now_ns; }
  /// From here on it counts.
  void begin() { begin_ = sums_; }
  /// A mean over so many iterations since then.
  [[nodiscard]] Breakdown mean(double iterations) const;

 private:
  Breakdown sums_;
  Breakdown begin_;
  std::int64_t last_ns_ = 0;
};

/// From the span that ended last, by `end_ns`, over what each began behind, back to `begin_ns`.
[[nodiscard]] std::vector<PathPiece> critical_path(const std::vector<RankClass>& classes,
                                                   std::int64_t begin_ns, std::int64_t end_ns);

}  // namespace understudy::predictor
