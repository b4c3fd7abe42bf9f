#include "replayer/calibrator/design/table_calls.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>

namespace understudy::calibrator {
namespace {

constexpr std::int64_t kMostBytesOfATable = std::int64_t{256} << 20U;
/// Limit for all tables of a call, so that a call takes milliseconds.
constexpr double kMostGatheredBytes = 32.0 * (1U << 20U);
constexpr double kNumberBytes = sizeof(float);

/// Own distributions: those of the standard library differ between implementations.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}
  /// In [0, 1).
  double unit() { return static_cast<double>(random_() >> 11U) * 0x1p-53; }
  double between(double low, double high) { return low + (high - low) * unit(); }
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(end));
  }
  template <typename T, std::size_t N>
  T one_of(const std::array<T, N>& values) {
    return values[static_cast<std::size_t>(below(static_cast<std::int64_t>(N)))];
  }

 private:
  std::mt19937_64 random_;
};

DrawnTable draw_table(Draws& draws) {
  constexpr std::array<std::int64_t, 5> kDims = {8, 16, 32, 64, 128};
  constexpr std::array<double, 6> kSkews = {0, 0, 0.6, 0.9, 1.1, 1.3};
  DrawnTable table;
  table.dim = draws.one_of(kDims);
  const double most = static_cast<double>(kMostBytesOfATable / table.dim) / kNumberBytes;
  table.rows = static_cast<std::int64_t>(std::min(std::pow(10.0, draws.between(2.5, 6.5)), most));
  table.pooling = static_cast<std::int64_t>(std::exp2(draws.between(0, 6)));
  table.skew = draws.one_of(kSkews);
  return table;
}

double bytes_of(const DrawnTable& table) {
  return static_cast<double>(table.rows * table.dim) * kNumberBytes;
}

/// Returns the rank of a row by its frequency, from 0: the inverse of a continuous Zipf
/// distribution's cumulative sum.
std::int64_t zipf_rank(const DrawnTable& table, double unit) {
  constexpr double kNearOne = 1e-9;
  const double exponent = 1 - table.skew;
  const double most = static_cast<double>(table.rows) + 1;
  const double rank = std::abs(exponent) < kNearOne
                          ? std::exp(unit * std::log(most))
                          : std::pow(unit * (std::pow(most, exponent) - 1) + 1, 1 / exponent);
  return std::clamp(static_cast<std::int64_t>(rank) - 1, std::int64_t{0}, table.rows - 1);
}

/// Odd, and mixes low bits well: 2^64 over the golden ratio (Knuth, TAOCP 3, 6.4).
constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15U;

/// Returns a multiplier that has no common factor with `rows`, and so permutes the rows.
std::uint64_t spread_of(std::int64_t rows) {
  const auto n = static_cast<std::uint64_t>(rows);
  std::uint64_t factor = (kGolden % n) | 1U;
  while (std::gcd(factor, n) != 1) {
    factor += 2;
  }
  return factor;
}

}  // namespace

TableCall draw_table_call(std::uint64_t number) {
  constexpr std::int64_t kMostTables = 8;
  constexpr std::int64_t kLeastBatch = 8;
  Draws draws(number);
  TableCall call;
  const double batch = std::exp2(draws.between(5, 11));
  const std::int64_t tables = 1 + draws.below(kMostTables);
  double bytes = 0;
  double gathered = 0;
  for (std::int64_t i = 0; i < tables; ++i) {
    call.tables.push_back(draw_table(draws));
    const DrawnTable& table = call.tables.back();
    bytes += bytes_of(table);
    gathered += batch * static_cast<double>(table.pooling * table.dim) * kNumberBytes;
  }
  const double shrink = std::min(1.0, static_cast<double>(kMostTableBytes) / bytes);
  for (DrawnTable& table : call.tables) {
    table.rows = std::max(std::int64_t{1},
                          static_cast<std::int64_t>(static_cast<double>(table.rows) * shrink));
  }
  call.batch = std::max(
      kLeastBatch, static_cast<std::int64_t>(batch * std::min(1.0, kMostGatheredBytes / gathered)));
  return call;
}

std::vector<std::int64_t> draw_lookups(const DrawnTable& table, std::int64_t batch,
                                       std::uint64_t seed) {
  Draws draws(seed);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(batch * table.pooling));
  if (table.skew == 0) {
    std::ranges::generate(rows, [&] { return draws.below(table.rows); });
    return rows;
  }
  const std::uint64_t spread = spread_of(table.rows);
  std::ranges::generate(rows, [&] {
    const auto rank = static_cast<std::uint64_t>(zipf_rank(table, draws.unit()));
    return static_cast<std::int64_t>(rank * spread % static_cast<std::uint64_t>(table.rows));
  });
  return rows;
}

}  // namespace understudy::calibrator
