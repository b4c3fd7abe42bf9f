#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "et_schema/model/reuse.h"

namespace understudy::et_schema {
class JsonField;
}

namespace understudy::predictor {

inline constexpr std::size_t kReuseBins = 17;

/// How often a batch meets the rows that it meets at all: the share of those rows met 1, 2, 3-4,
/// 5-8 … 16,385-32,768 and more times (Lin et al., arXiv 2404.12674). Adds up to 1.
using ReuseShares = std::array<double, kReuseBins>;

/// The bin of a row that is met so often, from 1 on.
[[nodiscard]] std::size_t reuse_bin(std::int64_t times);
/// How often a bin's rows are met: the geometric middle of its bounds.
[[nodiscard]] double bin_times(std::size_t bin);
/// What a capture recorded of an index tensor as shares.
[[nodiscard]] ReuseShares reuse_shares(const et_schema::Reuse& reuse);
/// How often a row of these shares is met in the mean.
[[nodiscard]] double mean_reuse(const ReuseShares& shares);
/// The shares of `lookups` uniform draws from `rows` rows, by Poisson's law.
[[nodiscard]] ReuseShares uniform_shares(double lookups, double rows);

/// A table of embeddings, and what a step asks of it.
struct EmbeddingTable {
  std::int64_t rows = 1;
  std::int64_t dim = 1;  ///< numbers in a row
  double pooling = 1;    ///< lookups a bag, in the mean
  std::int64_t item_bytes = 4;
  double state_bytes = 0;                 ///< of the optimizer for each number: SGD 0, Adam 8
  std::optional<ReuseShares> reuse = {};  ///< absent: uniform draws
  bool operator==(const EmbeddingTable&) const = default;
};

[[nodiscard]] double table_bytes(const EmbeddingTable& table);
/// With the optimizer's state of it.
[[nodiscard]] double held_bytes(const EmbeddingTable& table);
/// Its shares, or those of uniform draws for a batch of so many bags.
[[nodiscard]] ReuseShares shares_of(const EmbeddingTable& table, double batch);

enum class Direction : std::uint8_t {
  kForward,  ///< lookups and their sums
  kBackward  ///< the gradient of each looked-up row, and its update
};

/// One call over one table, or over several fused.
struct EmbeddingCall {
  std::vector<EmbeddingTable> tables;
  std::int64_t batch = 1;  ///< bags
  Direction direction = Direction::kForward;
  bool operator==(const EmbeddingCall&) const = default;
};

/// Reads rows, dim, pooling, and dtype and reuse where they are given. Throws Error (bad input)
/// with the field: sizes below 1, a table of 2^62 bytes or more, shares that do not add up to 1.
void read_value(const et_schema::JsonField& field, EmbeddingTable& table);
/// Writes them (json_record.h).
[[nodiscard]] nlohmann::ordered_json json_value(const EmbeddingTable& table);

}  // namespace understudy::predictor
