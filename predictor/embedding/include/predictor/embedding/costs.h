#pragma once

#include "predictor/calls/costs.h"
#include "predictor/embedding/tables.h"

namespace understudy::predictor {

/// What calls over embedding tables take on one platform. A call's time is a function of the sum of
/// its tables' loads, so that who places tables can add and take away one at a time.
class EmbeddingCosts {
 public:
  EmbeddingCosts() = default;
  EmbeddingCosts(const EmbeddingCosts&) = delete;
  EmbeddingCosts& operator=(const EmbeddingCosts&) = delete;
  virtual ~EmbeddingCosts() = default;

  /// 0 or more, in a unit of the model's own.
  [[nodiscard]] virtual double load(const EmbeddingTable& table, double batch,
                                    Direction direction) const = 0;
  /// Grows with the load. Of no load: no call.
  [[nodiscard]] virtual Estimate time(double load, Direction direction) const = 0;

  [[nodiscard]] Estimate of(const EmbeddingCall& call) const {
    double sum = 0;
    for (const EmbeddingTable& table : call.tables) {
      sum += load(table, static_cast<double>(call.batch), call.direction);
    }
    return time(sum, call.direction);
  }
};

}  // namespace understudy::predictor
