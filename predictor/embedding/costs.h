#pragma once

#include <functional>

#include "predictor/calls/costs.h"
#include "predictor/embedding/tables.h"
#include "predictor/operators/operator_models.h"

namespace understudy::predictor {

/// Times of calls over embedding tables on one platform. A call's time is a function of the sum of
/// its tables' loads, so that a planner can add and remove tables one at a time.
struct EmbeddingCosts {
  /// Returns a table's load: 0 or more, in a unit of the model.
  std::function<double(const EmbeddingTable& table, double batch, Direction direction)> load;
  /// Returns the time of a load, which grows with it. A load of 0 means no call and no time.
  std::function<Estimate(double load, Direction direction)> time;
};

/// Returns costs by a platform's operator models, for platforms without rows of embedding calls.
/// Each table is one call, as in PyTorch's modules: forward `_embedding_bag`; backward its sparse
/// gradient and the addition to the table. Lookups repeat as in the measured calls. Loads are
/// nanoseconds. `models` must outlive the result.
[[nodiscard]] EmbeddingCosts operator_embedding_costs(const OperatorModels& models,
                                                      DeviceKey device);
/// Returns costs by a card's data sheet, for a card on which nothing was measured: bytes of rows
/// that its cache misses, and of their sums, at the bandwidth of its memory. Loads are those bytes.
[[nodiscard]] EmbeddingCosts assumed_embedding_costs(const Card& card);
/// Returns true if calls over embedding tables were measured on the device.
[[nodiscard]] bool has_embedding_calls(const OperatorModels& models, const DeviceKey& device);

}  // namespace understudy::predictor
