#pragma once

#include <array>

#include "predictor/embedding/costs.h"
#include "predictor/operators/operator_models.h"

namespace understudy::predictor {

/// Embedding tables by a platform's models of operators, where it has no rows of whole tables: a
/// call a table, as PyTorch's own modules make it. Forward `_embedding_bag`; backward its sparse
/// gradient, and that added to the table. What repeats among the lookups is as in the measured
/// calls. A load is nanoseconds.
class OperatorEmbeddingCosts final : public EmbeddingCosts {
 public:
  /// `models` must outlive it.
  OperatorEmbeddingCosts(const OperatorModels& models, DeviceKey device);

  /// Whether calls over embedding tables were measured on the device.
  [[nodiscard]] static bool are_known(const OperatorModels& models, const DeviceKey& device);

  [[nodiscard]] double load(const EmbeddingTable& table, double batch,
                            Direction direction) const override;
  [[nodiscard]] Estimate time(double load, Direction direction) const override;

 private:
  const OperatorModels& models_;
  DeviceKey device_;
  std::array<double, 2> width_{};  ///< ln: forward, backward
};

}  // namespace understudy::predictor
