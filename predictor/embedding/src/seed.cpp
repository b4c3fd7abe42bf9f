#include "predictor/embedding/seed.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace understudy::predictor {
namespace {

constexpr double kItemBytes = 4;
constexpr double kPerUs = 1e3;  ///< of a rate in G a second

// Microseconds and GB/s as published; see seed.h.
constexpr std::array kCards = {
    SeedCard{"a100",
             15026.6,
             8.1,
             1391.1,
             2270.9,
             40.0 * 1024 * 1024,
             108,
             {14, 29, 1391.10, 6.450, 2.2096, 20.3520, .6253, .9324, true}},
    SeedCard{"v100",
             15441.5,
             8.1,
             817.0,
             2847.5,
             6.0 * 1024 * 1024,
             80,
             {16, 30, 816.95, 4.833, 1.9472, 19.8170, .5556, .9552, true}}};

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

std::optional<SeedCard> seed_card(std::string_view name) {
  const auto found = std::ranges::find(kCards, name, &SeedCard::name);
  return found == kCards.end() ? std::nullopt : std::optional(*found);
}

double dram_us(const SeedCard& card, double bytes) {
  return sigmoid_us(card.dram, bytes, 1);
}

double elementwise_us(const SeedCard& card, double elements, double flops, double accesses) {
  return std::max(flops * elements / card.peak_gflops,
                  accesses * kItemBytes * elements / card.dram_gb_per_s) /
         kPerUs;
}

double concat_us(const SeedCard& card, double elements) {
  constexpr double kReached = 0.79;
  return 2 * kItemBytes * elements / (kReached * card.dram_gb_per_s) / kPerUs;
}

double copy_us(const SeedCard& card, double elements) {
  return kItemBytes * elements / card.pcie_gb_per_s / kPerUs;
}

double seed_forward_bytes(const EmbeddingTable& table, double batch) {
  return batch * (kOffsetsBytes + in_sectors(kItemBytes * table.pooling) +
                  (table.pooling + 1) * row_bytes(table));
}

double seed_backward_bytes(const EmbeddingTable& table, double batch) {
  return batch * (kOffsetsBytes + in_sectors(kItemBytes * table.pooling) +
                  (2 * table.pooling + 1) * row_bytes(table));
}

double seed_hit_rate(const EmbeddingTable& table, double batch, double cached_rows) {
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

double seed_backward_hit_rate(const EmbeddingTable& table, double cached_rows) {
  const auto rows = static_cast<double>(table.rows);
  const double cached = std::min(cached_rows, rows);
  double rate = 1;
  for (double i = 0; i < table.pooling && rate > 0; ++i) {
    rate *= std::max(0.0, cached - i) / std::max(1.0, rows - i);
  }
  return rate;
}

double seed_forward_hit_us(const SeedCard& card, const EmbeddingTable& table, double tables,
                           double batch, double warps_per_block) {
  constexpr double kUsableCache = 0.9;
  const double bags = std::ceil(card.multiprocessors * warps_per_block / batch);
  const double cached =
      kUsableCache * card.l2_bytes / bags / static_cast<double>(table.item_bytes * table.dim);
  const double rate = std::clamp(seed_hit_rate(table, batch, cached), 0.0, 1.0);
  const double hit_bytes = tables * batch * rate * table.pooling * row_bytes(table);
  const double dram_bytes = tables * batch *
                            (in_sectors(kItemBytes * table.pooling) + kOffsetsBytes +
                             row_bytes(table) + (1 - rate) * table.pooling * row_bytes(table));
  const double short_rows = table.dim > 64 ? 1 : table.dim > 32 ? 1.1 : 1.55;
  return std::max(dram_us(card, dram_bytes), hit_bytes / card.l2_gb_per_s / kPerUs) * short_rows;
}

double SeedEmbeddingCosts::load(const EmbeddingTable& table, double batch,
                                Direction direction) const {
  if (direction == Direction::kForward) {
    return seed_forward_bytes(table, batch);
  }
  // Arithmetic as the bytes that take as long, where it takes longer.
  const double flops = batch * table.pooling * static_cast<double>(table.dim);
  return std::max(seed_backward_bytes(table, batch),
                  flops / card_.peak_gflops * card_.dram_gb_per_s);
}

Estimate SeedEmbeddingCosts::time(double load, Direction direction) const {
  if (!(load > 0)) {
    return {};
  }
  // Published for lookups of FBGEMM on a V100 by these formulas: 43 % mean error over all tables.
  constexpr double kNsPerUs = 1e3;
  constexpr double kLow = 0.6;
  constexpr double kHigh = 1.8;
  const double ns = dram_us(card_, load) * kNsPerUs;
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
