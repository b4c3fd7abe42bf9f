#pragma once

#include <vector>

#include "predictor/calls/call.h"
#include "predictor/calls/card.h"
#include "predictor/operators/operator_models.h"

namespace understudy::predictor::synthetic {

/// A made-up card; `speed` times as fast as the plain one.
[[nodiscard]] Card card(const std::string& name, double speed = 1);

/// Element-wise calls of growing sizes, whose time follows a law: a floor, a fixed part, bytes at
/// 0.8 of the bandwidth, and a fifth more where the row length is odd.
[[nodiscard]] std::vector<MeasuredCall> elementwise(const Card& on, std::size_t count);
/// What that law says of one of them.
[[nodiscard]] double elementwise_ns(const OperatorCall& call, const Card& on);
[[nodiscard]] OperatorCall relu(std::int64_t rows, std::int64_t length);

/// A fifth of the usual trees, each learning more: tests are of what is done with them.
[[nodiscard]] inline TreeOptions few_trees() {
  TreeOptions options;
  options.trees = 60;
  options.depth = 4;
  options.rate = 0.25;
  return options;
}
[[nodiscard]] inline ModelsOptions quick_models() {
  ModelsOptions options;
  options.trees = few_trees();
  return options;
}
[[nodiscard]] inline FitOptions quick_fit() {
  FitOptions options;
  options.trees = few_trees();
  return options;
}

}  // namespace understudy::predictor::synthetic
