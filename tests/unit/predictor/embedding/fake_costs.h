#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "predictor/embedding/plan.h"

namespace understudy::predictor {

inline constexpr double kAnyMemory = std::numeric_limits<double>::infinity();

/// A platform that is easily reckoned with: a nanosecond a lookup, three backward; an exchange
/// takes a microsecond and a nanosecond a byte.
class PlainEmbeddingCosts final : public EmbeddingCosts {
 public:
  [[nodiscard]] double load(const EmbeddingTable& table, double batch,
                            Direction direction) const override {
    return batch * table.pooling * (direction == Direction::kForward ? 1 : 3);
  }
  [[nodiscard]] Estimate time(double load, Direction /*direction*/) const override {
    return known(load, "plain");
  }
};

inline ShardCosts plain_costs() {
  static const PlainEmbeddingCosts kEmbedding;
  return {&kEmbedding, [](double link_bytes, int) { return known(1000 + link_bytes, "plain"); }};
}

inline NamedTable table(const char* name, std::int64_t rows, std::int64_t dim, double pooling) {
  return {name, {.rows = rows, .dim = dim, .pooling = pooling}};
}

}  // namespace understudy::predictor
