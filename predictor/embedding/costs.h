#pragma once

#include <functional>

#include "predictor/calls/card.h"
#include "predictor/calls/costs.h"
#include "predictor/embedding/tables.h"

namespace understudy::predictor {

/// Times of calls over embedding tables on one platform. A call's time is a function of the sum of
/// its tables' loads, so that a planner can add and remove tables one at a time.
struct EmbeddingCosts {
  /// Returns a table's load: 0 or more, in a unit of the model.
  std::function<double(const EmbeddingTable& table, double batch, Direction direction)> load;
  /// Returns the time of a load, which grows with it. A load of 0 means no call and no time.
  std::function<Estimate(double load, Direction direction)> time;
};

/// Returns costs by a card's data sheet, for a card on which no tables were measured: bytes of rows
/// that its cache misses, and of their sums, at the bandwidth of its memory. Loads are those bytes.
[[nodiscard]] EmbeddingCosts assumed_embedding_costs(const Card& card);

}  // namespace understudy::predictor
