#include "predictor/embedding/costs.h"
#include "predictor/embedding/fitted.h"

namespace understudy::predictor {

EmbeddingCosts assumed_embedding_costs(const Card& card) {
  const auto load = [cache_bytes = card.l2_bytes](const EmbeddingTable& table, double batch,
                                                  Direction direction) {
    // The update reads each row and writes it.
    const double passes = direction == Direction::kForward ? 1 : 2;
    const double sums = batch * static_cast<double>(table.dim * table.item_bytes);
    return passes * terms_of(table, batch, cache_bytes).back() + sums;
  };
  const auto time = [bandwidth = card.bandwidth_bytes_per_s](double load, Direction) {
    constexpr double kNsPerS = 1e9;
    return load > 0 ? guessed(load / bandwidth * kNsPerS,
                              "rows at the bandwidth of the card's data sheet")
                    : Estimate();
  };
  return {load, time};
}

}  // namespace understudy::predictor
