#include "predictor/embedding/published.h"

#include <algorithm>
#include <cmath>

namespace understudy::predictor {
namespace {

constexpr double kItemBytes = 4;

double in_sectors(double bytes) {
  constexpr double kSector = 32;
  return std::ceil(bytes / kSector) * kSector;
}

/// Index pointers and the like that a warp reads for its bag.
constexpr double kOffsetsBytes = 32 + 64;

/// Of numbers of any size; the formulas were published of four bytes each.
double row_bytes(const EmbeddingTable& table) {
  return in_sectors(static_cast<double>(table.item_bytes * table.dim));
}

}  // namespace

PublishedCard published_v100() {
  return {15441.5, 817.0, {16, 30, 816.95, 4.833, 1.9472, 19.8170, .5556, .9552, true}};
}

double published_forward_bytes(const EmbeddingTable& table, double batch) {
  return batch * (kOffsetsBytes + in_sectors(kItemBytes * table.pooling) +
                  (table.pooling + 1) * row_bytes(table));
}

double published_backward_bytes(const EmbeddingTable& table, double batch) {
  return batch * (kOffsetsBytes + in_sectors(kItemBytes * table.pooling) +
                  (2 * table.pooling + 1) * row_bytes(table));
}

double published_hit_rate(const EmbeddingTable& table, double batch, double cached_rows) {
  const double lookups = batch * table.pooling;
  if (!(lookups > 0)) {
    return 0;
  }
  const auto rows = static_cast<double>(table.rows);
  const double cached = std::min({cached_rows, rows, lookups});
  // Of each row the probability that no lookup meets it.
  const double unmet = std::exp(lookups * std::log1p(-1 / rows));
  const double met = rows > 1 ? rows * (1 - unmet) : 1;
  return met > cached ? 1 - (cached + (lookups - cached) * (rows - cached) / rows) / lookups
                      : 1 - met / lookups;
}

double PublishedEmbeddingCosts::load(const EmbeddingTable& table, double batch,
                                     Direction direction) const {
  if (direction == Direction::kForward) {
    return published_forward_bytes(table, batch);
  }
  // Arithmetic as the bytes that take as long, where it takes longer.
  const double flops = batch * table.pooling * static_cast<double>(table.dim);
  return std::max(published_backward_bytes(table, batch),
                  flops / card_.peak_gflops * card_.dram_gb_per_s);
}

Estimate PublishedEmbeddingCosts::time(double load, Direction direction) const {
  if (!(load > 0)) {
    return {};
  }
  // Published for lookups of FBGEMM on a V100 by these formulas: 43 % mean error over all tables.
  constexpr double kNsPerUs = 1e3;
  constexpr double kLow = 0.6;
  constexpr double kHigh = 1.8;
  const double ns = sigmoid_us(card_.dram, load, 1) * kNsPerUs;
  const char* model =
      direction == Direction::kForward ? "published forward formula" : "published backward formula";
  return {.ns = ns,
          .low_ns = kLow * ns,
          .high_ns = kHigh * ns,
          .model = model,
          .extrapolated = true,
          .modelled = true};
}

}  // namespace understudy::predictor
