#pragma once

#include <cstdint>
#include <vector>

#include "predictor/simulate/simulate.h"

namespace understudy::predictor {

/// The activity of a rank at a moment, for its breakdown.
struct Doing {
  std::uint32_t operators = 0;  ///< number of operators on streams
  /// Number of communications on streams, including those waiting for other ranks.
  std::uint32_t communications = 0;
  std::uint32_t hosts = 0;   ///< number of threads that are not waiting
  std::uint32_t moving = 0;  ///< number of communications that have begun on all ranks
};

/// Adds up a rank's time.
class Accounts {
 public:
  /// For a rank on a device: adds the time since the last call. Must precede each change of
  /// `doing`.
  void pass(const Doing& doing, std::int64_t now_ns);

  /// For a rank on a CPU: adds an operator of the step's own thread.
  void operate(std::int64_t gap_ns, std::int64_t host_ns) {
    sums_.host_bound_ns += static_cast<double>(gap_ns);
    sums_.compute_ns += static_cast<double>(host_ns);
  }
  void wait(std::int64_t ns, bool for_communication) {
    (for_communication ? sums_.exposed_communication_ns : sums_.idle_ns) += static_cast<double>(ns);
  }

  /// Returns for how long communication has moved so far.
  [[nodiscard]] std::int64_t moved_ns() const { return moved_ns_; }

  /// Must be called first.
  void start(std::int64_t now_ns) { last_ns_ = now_ns; }
  /// Starts the time that counts.
  void begin() { begin_ = sums_; }
  /// Returns the mean over `iterations` iterations since begin().
  [[nodiscard]] Breakdown mean(double iterations) const;

 private:
  Breakdown sums_;
  Breakdown begin_;
  std::int64_t last_ns_ = 0;
  std::int64_t moved_ns_ = 0;
};

/// Follows causes from the last span that ends by `end_ns` back to `begin_ns`.
[[nodiscard]] std::vector<PathPiece> critical_path(const std::vector<RankClass>& classes,
                                                   std::int64_t begin_ns, std::int64_t end_ns);

}  // namespace understudy::predictor
