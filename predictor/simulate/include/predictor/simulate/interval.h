#pragma once

#include <string>
#include <vector>

#include "predictor/simulate/simulate.h"

namespace understudy::predictor {

/// What of an iteration's length rests on one estimate.
struct Contribution {
  double ns = 0;
  double below_ns = 0;  ///< by how much it may be shorter, and longer, 9 times of 10
  double above_ns = 0;
  std::string model;
};

/// Of the errors' variance so much is common to all operators of a model: what the platform did
/// while it was measured, and what the model gets wrong throughout.
inline constexpr double kCommonShare = 0.25;

/// Half a 90 % interval below and above a sum of contributions: in quadrature, a share of the
/// variance in common within a model. docs/prediction.md, "Interval". `relative`: half the interval
/// of the simulator itself.
struct HalfWidths {
  double below_ns = 0;
  double above_ns = 0;
};
[[nodiscard]] HalfWidths half_widths(const std::vector<Contribution>& contributions, double sum_ns,
                                     double relative);

/// The critical path's contributions: calls with equal estimates are one, as they are wrong
/// together.
[[nodiscard]] std::vector<Contribution> contributions_of(const Simulation& simulation);

}  // namespace understudy::predictor
