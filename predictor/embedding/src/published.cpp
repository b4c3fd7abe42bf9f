#include <algorithm>
#include <cmath>

#include "predictor/embedding/costs.h"

namespace understudy::predictor {
namespace {

constexpr double kItemBytes = 4;

double in_sectors(double bytes) {
  constexpr double kSector = 32;
  return std::ceil(bytes / kSector) * kSector;
}

/// Bytes of index pointers and offsets that a warp reads for its bag.
constexpr double kOffsetsBytes = 32 + 64;

/// Returns a row's bytes in whole sectors. The formulas were published for four-byte elements only.
double row_bytes(const EmbeddingTable& table) {
  return in_sectors(static_cast<double>(table.item_bytes * table.dim));
}

}  // namespace

double sigmoid_us(const BandwidthSigmoid& sigmoid, double bytes) {
  constexpr double kBytesPerUsPerGbPerS = 1e3;
  const double x = std::log2(bytes);
  if (x <= sigmoid.start_log2) {
    return sigmoid.overhead_us;
  }
  if (x > sigmoid.saturation_log2) {
    return bytes / sigmoid.max_gb_per_s / kBytesPerUsPerGbPerS + sigmoid.overhead_us;
  }
  const double log10_bw = sigmoid.l / (1 + std::exp(-sigmoid.k * (x - sigmoid.x0))) + sigmoid.b;
  return bytes / std::pow(10, log10_bw) / kBytesPerUsPerGbPerS;
}

PublishedCard published_v100() {
  return {15441.5, 817.0, {16, 30, 816.95, 4.833, 1.9472, 19.8170, .5556, .9552}};
}

double published_forward_bytes(const EmbeddingTable& table, double batch) {
  return batch * (kOffsetsBytes + in_sectors(kItemBytes * table.pooling) +
                  (table.pooling + 1) * row_bytes(table));
}

double published_backward_bytes(const EmbeddingTable& table, double batch) {
  return batch * (kOffsetsBytes + in_sectors(kItemBytes * table.pooling) +
                  (2 * table.pooling + 1) * row_bytes(table));
}

EmbeddingCosts published_embedding_costs(const PublishedCard& card) {
  const auto load = [card](const EmbeddingTable& table, double batch, Direction direction) {
    if (direction == Direction::kForward) {
      return published_forward_bytes(table, batch);
    }
    // If arithmetic takes longer than memory traffic, the load is the bytes that DRAM moves in the
    // time of the arithmetic.
    const double flops = batch * table.pooling * static_cast<double>(table.dim);
    return std::max(published_backward_bytes(table, batch),
                    flops / card.peak_gflops * card.dram_gb_per_s);
  };
  const auto time = [card](double load, Direction direction) -> Estimate {
    if (!(load > 0)) {
      return {};
    }
    // Published for FBGEMM's lookups on a V100: 43 % mean error over all tables.
    constexpr double kNsPerUs = 1e3;
    constexpr double kLow = 0.6;
    constexpr double kHigh = 1.8;
    const double ns = sigmoid_us(card.dram, load) * kNsPerUs;
    return {.ns = ns,
            .low_ns = kLow * ns,
            .high_ns = kHigh * ns,
            .model = direction == Direction::kForward ? "published forward formula"
                                                      : "published backward formula",
            .extrapolated = true};
  };
  return {load, time};
}

}  // namespace understudy::predictor
