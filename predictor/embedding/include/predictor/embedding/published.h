#pragma once

#include "predictor/collectives/sigmoid.h"
#include "predictor/embedding/costs.h"

namespace understudy::predictor {

/// A card as owensgroup/ml_perf_model has it (analysis/utils.py, inference.py; FP32).
struct PublishedCard {
  double peak_gflops = 0;
  double dram_gb_per_s = 0;
  BandwidthSigmoid dram;  ///< achieved over bytes; its overhead counts to saturated calls, too
};
[[nodiscard]] PublishedCard published_v100();

/// Bytes that one table's lookups move, each bag by a warp that reads in pieces of 32 bytes.
[[nodiscard]] double published_forward_bytes(const EmbeddingTable& table, double batch);
[[nodiscard]] double published_backward_bytes(const EmbeddingTable& table, double batch);

/// The share of a batch's lookups that a cache answers which holds `cached_rows` of a table's rows
/// at a time, by how many rows uniform draws meet.
[[nodiscard]] double published_hit_rate(const EmbeddingTable& table, double batch,
                                        double cached_rows);

/// The simple formulas: all lookups go to memory; backward no faster than its arithmetic.
class PublishedEmbeddingCosts final : public EmbeddingCosts {
 public:
  explicit PublishedEmbeddingCosts(const PublishedCard& card) : card_(card) {}
  [[nodiscard]] double load(const EmbeddingTable& table, double batch,
                            Direction direction) const override;
  [[nodiscard]] Estimate time(double load, Direction direction) const override;

 private:
  PublishedCard card_;
};

}  // namespace understudy::predictor
