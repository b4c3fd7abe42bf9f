#pragma once

#include <optional>
#include <string_view>

#include "predictor/collectives/sigmoid.h"
#include "predictor/embedding/costs.h"

namespace understudy::predictor {

/// A card as owensgroup/ml_perf_model has it (analysis/utils.py, inference.py; FP32).
struct SeedCard {
  std::string_view name;
  double peak_gflops = 0;
  double pcie_gb_per_s = 0;
  double dram_gb_per_s = 0;
  double l2_gb_per_s = 0;
  double l2_bytes = 0;
  double multiprocessors = 0;
  BandwidthSigmoid dram;  ///< achieved over bytes; its overhead counts to saturated calls, too
};
/// "a100" or "v100".
[[nodiscard]] std::optional<SeedCard> seed_card(std::string_view name);

/// Microseconds for so many bytes of device memory.
[[nodiscard]] double dram_us(const SeedCard& card, double bytes);
/// Of an element-wise kernel: `flops` and `accesses` (of 4 bytes) for each of `elements`.
[[nodiscard]] double elementwise_us(const SeedCard& card, double elements, double flops,
                                    double accesses);
/// Of a concatenation of so many elements in sum.
[[nodiscard]] double concat_us(const SeedCard& card, double elements);
/// Of a copy between host and device.
[[nodiscard]] double copy_us(const SeedCard& card, double elements);

/// Bytes that one table's lookups move, each bag by a warp that reads in pieces of 32 bytes.
[[nodiscard]] double seed_forward_bytes(const EmbeddingTable& table, double batch);
[[nodiscard]] double seed_backward_bytes(const EmbeddingTable& table, double batch);

/// The share of lookups that a cache answers which holds `cached` of a table's rows at a time:
/// forward by how many rows uniform draws meet, backward the product of (X - i) / (E - i).
[[nodiscard]] double seed_hit_rate(const EmbeddingTable& table, double batch, double cached_rows);
[[nodiscard]] double seed_backward_hit_rate(const EmbeddingTable& table, double cached_rows);
/// Forward with that hit rate; `warps_per_block` bags share a multiprocessor's part of the cache.
[[nodiscard]] double seed_forward_hit_us(const SeedCard& card, const EmbeddingTable& table,
                                         double tables, double batch, double warps_per_block = 45);

/// The simple formulas: all lookups go to memory; backward no faster than its arithmetic.
class SeedEmbeddingCosts final : public EmbeddingCosts {
 public:
  explicit SeedEmbeddingCosts(const SeedCard& card) : card_(card) {}
  [[nodiscard]] double load(const EmbeddingTable& table, double batch,
                            Direction direction) const override;
  [[nodiscard]] Estimate time(double load, Direction direction) const override;

 private:
  SeedCard card_;
};

}  // namespace understudy::predictor
