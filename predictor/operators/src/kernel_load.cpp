#include "kernel_load.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace understudy::predictor {
namespace {

/// Tile sizes. The last two multiply a matrix by a vector.
constexpr std::array<Tile, 12> kTiles = {{{128, 256},
                                          {128, 128},
                                          {128, 64},
                                          {64, 128},
                                          {64, 64},
                                          {32, 128},
                                          {128, 32},
                                          {32, 32},
                                          {16, 128},
                                          {128, 16},
                                          {1, 128},
                                          {128, 1}}};

/// Returns the share of the peak that a tile reaches relative to the largest tile. Each loaded
/// element is used for m n / (m + n) multiplications.
double share_of(const Tile& tile) {
  constexpr double kLargest = 256.0 / 3;
  constexpr double kPower = 0.4;
  return std::pow(tile.m * tile.n / (tile.m + tile.n) / kLargest, kPower);
}

/// Returns the FLOPs that the processors could execute while they run the product, with the best
/// tile size. The number exceeds the product's own FLOPs, because tiles are padded, small tiles are
/// slower, and idle processors of the last wave count as busy. If `splits` is set, up to sixteen
/// blocks may split a tile's inner dimension and add their partial sums.
double tiled_flops(const Product& p, double processors, bool splits) {
  constexpr double kStep = 32;      // step of the inner dimension
  constexpr double kAddingUp = 64;  // cost of adding parts, in the same unit, and the least part
  static const std::array<double, kTiles.size()> kShares = [] {
    std::array<double, kTiles.size()> shares{};
    std::ranges::transform(kTiles, shares.begin(), share_of);
    return shares;
  }();
  double least = 0;
  for (std::size_t i = 0; i < kTiles.size(); ++i) {
    const Tile& tile = kTiles[i];
    const double tiles = p.batch * std::ceil(p.m / tile.m) * std::ceil(p.n / tile.n);
    for (double parts = 1; parts <= (splits ? 16 : 1); parts *= 2) {
      if (parts > 1 && p.k / parts < kAddingUp) {
        break;
      }
      const double depth = std::ceil(p.k / parts / kStep) * kStep + (parts > 1 ? kAddingUp : 0);
      const double waves = std::ceil(tiles * parts / processors);
      const double flops = 2 * waves * processors * tile.m * tile.n * depth / kShares[i];
      least = least == 0 ? flops : std::min(least, flops);
    }
  }
  return least;
}

/// Returns how many times more arithmetic an attention's blocks do than its shapes say. A block has
/// 128 queries; a single query's heads that share keys fill up to 16 rows. The last wave is not
/// full, but blocks of causal attention differ, which fills 0.3 of it.
double attention_excess(const Attention& of, double processors) {
  constexpr double kBlock = 128, kRows = 16, kOfLastWave = 0.7;
  if (of.queries <= 1) {
    return std::ceil(of.heads_of_key / kRows) * kRows / of.heads_of_key;
  }
  const double waves = of.batch_heads * std::ceil(of.queries / kBlock) / processors;
  return std::max(1.0, kOfLastWave * std::ceil(waves) / waves);
}

/// Returns the FLOPs of both grouped products, with the best number of a block's rows.
double grouped_flops(const Experts& of, double processors) {
  constexpr double kColumns = 128;
  const double each = std::max(of.tokens * of.chosen / of.hit, 1.0);
  double least = 0;
  for (const double rows : {16.0, 32.0, 64.0, 128.0}) {
    const auto flops_of = [&](double columns, double depth) {
      const double blocks = of.hit * std::ceil(each / rows) * std::ceil(columns / kColumns);
      return 2 * std::ceil(blocks / processors) * processors * rows * kColumns * depth;
    };
    const double flops = (flops_of(2 * of.inner, of.hidden) + flops_of(of.hidden, of.inner)) /
                         share_of({rows, kColumns});
    least = least == 0 ? flops : std::min(least, flops);
  }
  return least;
}

}  // namespace

KernelLoad kernel_load(const Work& work, const Card& card, double flops, const KernelLoad& plain) {
  if (card.name == "cpu") {
    return plain;
  }
  KernelLoad load = plain;
  const auto takes = [&](double tiled) {
    load.compute_ns = std::max(plain.compute_ns, tiled / flops * kNsPerS);
  };
  const Product& p = work.product;
  const double product_flops = 2 * p.batch * p.m * p.n * p.k;
  if (work.attention) {
    takes(work.flops * attention_excess(*work.attention, card.processors));
  } else if (work.experts) {
    takes(grouped_flops(*work.experts, card.processors));
  } else if (work.is_product && product_flops > 0) {
    // Backward passes consist of several products of the same size.
    const double tiled = tiled_flops(p, card.processors, work.family == Family::kMatmul);
    takes(tiled * work.flops / product_flops);
  }
  return load;
}

}  // namespace understudy::predictor
