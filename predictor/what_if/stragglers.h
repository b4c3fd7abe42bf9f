#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "predictor/what_if/own_times.h"
#include "predictor/what_if/recorded_costs.h"

namespace understudy::predictor {

/// A part of a rank's own time beside the usual one of the other ranks.
struct PartBlame {
  OwnPart part;
  double own_ns = 0;
  double usual_ns = 0;
};

struct RankBlame {
  int rank = 0;
  double own_ns = 0;             ///< host and device added
  double usual_ns = 0;           ///< the same parts, as the others have them
  std::vector<PartBlame> parts;  ///< those that take any time
  double waited_ns = 0;          ///< in collectives, for ranks that arrived later
  double caused_ns = 0;          ///< of others' mean wait, in collectives where it arrived last
  std::uint64_t last = 0;        ///< collectives where it arrived last
  /// The step, if it took the others' usual times; unset if it takes hardly longer than they.
  std::optional<double> without_ns;
  double begin_ns = 0;  ///< of its step after the first rank's; 0 without clocks
  [[nodiscard]] double excess_ns() const { return own_ns - usual_ns; }
};

/// The collectives of one name and group. Only calls that all ranks' profiles show are in times.
struct CollectiveSkew {
  std::string name;
  std::string group;
  int ranks = 0;
  std::uint64_t calls = 0;
  std::uint64_t unseen = 0;  ///< of these, calls without the time of every rank
  double transfer_ns = 0;    ///< from the last arrival
  double skew_ns = 0;        ///< mean wait of the ranks
  double most_ns = 0;        ///< longest wait of any rank in any call, one after the other
  int last_rank = -1;        ///< which caused most of the waits; -1: none waited
  std::uint64_t last = 0;    ///< calls where that rank arrived last
};

struct Stragglers {
  double step_ns = 0;
  double even_ns = 0;       ///< if all ranks took the usual times
  std::vector<int> slow;    ///< ascending; empty: none is
  double without_ns = 0;    ///< the step, if the slow ranks took the others' usual times
  std::vector<int> late;    ///< ascending; see kSlowShare
  OwnPart slow_in;          ///< the part in which the slow ranks take most longer
  std::uint64_t steps = 0;  ///< profiled steps that the times are medians of, on every rank
  std::vector<std::vector<int>> stages;  ///< ranks of a pipeline's stages; empty: there is none
  std::uint64_t skewed = 0;              ///< collectives that any rank waited in
  bool has_clocks = false;               ///< the ranks' clocks could be set
  std::vector<RankBlame> ranks;
  std::vector<CollectiveSkew> collectives;  ///< the largest skew first
};

/// A rank is slow if its own time exceeds the others' by this share of the step, and the step is
/// shorter by as much without that. A rank is late if others wait for it by this share longer than
/// its own time and waits explain; that is told only with clocks, and without messages, which hand
/// lateness on. Above the simulator's own error (kSimulatorSpread).
inline constexpr double kSlowShare = 0.05;

/// Finds who is slow in a job with recorded times, all of whose ranks are there. A collective's
/// shortest time on a rank is its transfer: that rank arrived last; what others took longer is
/// their wait. So no clocks are needed. Throws Error as RecordedCosts and simulate() do.
[[nodiscard]] Stragglers find_stragglers(Job job);

}  // namespace understudy::predictor
