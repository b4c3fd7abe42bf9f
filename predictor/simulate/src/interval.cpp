#include "predictor/simulate/interval.h"

#include <cmath>
#include <map>
#include <tuple>

namespace understudy::predictor {
namespace {

/// The estimate that a stretch of the path rests on; null for none.
const Estimate* estimate_of(const PlayedCost& cost, const Span& span, bool is_gap) {
  switch (span.kind) {
    case SpanKind::kHost:
      return is_gap ? &cost.gap : &cost.cost.host;
    case SpanKind::kDevice:
      return &cost.cost.device;
    case SpanKind::kMoving:
      return &cost.communication;
    case SpanKind::kHostWait:
    case SpanKind::kArrived:
      return nullptr;
  }
  return nullptr;
}

/// Of one side: models are independent, within a model a share is common.
double half_width(const std::vector<Contribution>& contributions, double Contribution::*side,
                  double simulator_ns) {
  std::map<std::string, double> sums;
  double variance = simulator_ns * simulator_ns;
  for (const Contribution& contribution : contributions) {
    sums[contribution.model] += contribution.*side;
    variance += (1 - kCommonShare) * contribution.*side * (contribution.*side);
  }
  for (const auto& [model, sum] : sums) {
    variance += kCommonShare * sum * sum;
  }
  return std::sqrt(variance);
}

}  // namespace

HalfWidths half_widths(const std::vector<Contribution>& contributions, double sum_ns,
                       double relative) {
  return {half_width(contributions, &Contribution::below_ns, relative * sum_ns),
          half_width(contributions, &Contribution::above_ns, relative * sum_ns)};
}

std::vector<Contribution> contributions_of(const Simulation& simulation) {
  std::map<std::tuple<std::string, double, double, double>, Contribution> equal;
  for (const PathPiece& piece : simulation.critical_path) {
    if (piece.span.is_none()) {
      continue;
    }
    const RankClass& rank = simulation.classes[piece.span.rank_class];
    const Span& span = rank.spans[piece.span.index];
    if (span.instruction == kNoIndex) {
      continue;
    }
    const PlayedCost& cost = simulation.costs[rank.program][span.instruction];
    const Estimate* estimate = estimate_of(cost, span, piece.is_gap);
    if (estimate == nullptr || estimate->ns <= 0) {
      continue;
    }
    Contribution& sum = equal[{estimate->model, estimate->ns, estimate->low_ns, estimate->high_ns}];
    // A stretch of a part of the estimate takes as large a part of its interval.
    const double part = static_cast<double>(piece.ns) / estimate->ns;
    sum.ns += static_cast<double>(piece.ns);
    sum.below_ns += part * std::max(estimate->ns - estimate->low_ns, 0.0);
    sum.above_ns += part * std::max(estimate->high_ns - estimate->ns, 0.0);
    sum.model = estimate->model;
  }
  std::vector<Contribution> contributions;
  for (auto& [key, sum] : equal) {
    contributions.push_back(std::move(sum));
  }
  return contributions;
}

}  // namespace understudy::predictor
