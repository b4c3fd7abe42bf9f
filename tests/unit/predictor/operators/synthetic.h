#pragma once

#include <vector>

#include "predictor/card/card.h"
#include "predictor/rows/call.h"

namespace understudy::predictor::synthetic {

/// A made-up card; `speed` times as fast as the plain one.
[[nodiscard]] Card card(const std::string& name, double speed = 1);

/// Element-wise calls of growing sizes, whose time follows a law: a floor, a fixed part, bytes at
/// 0.8 of the bandwidth, and a fifth more where the row length is odd.
[[nodiscard]] std::vector<MeasuredCall> elementwise(const Card& on, std::size_t count);
/// What that law says of one of them.
[[nodiscard]] double elementwise_ns(const OperatorCall& call, const Card& on);
[[nodiscard]] OperatorCall relu(std::int64_t rows, std::int64_t length);

}  // namespace understudy::predictor::synthetic
