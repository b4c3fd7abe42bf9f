#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "et_schema/model/dtype.h"

namespace understudy::et_schema {
class JsonField;
}

namespace understudy::predictor {

inline constexpr std::size_t kReuseBins = 17;

/// Shares of the rows that a batch reads, by the number of reads: 1, 2, 3-4, 5-8 … 16,385-32,768,
/// more (Lin et al., arXiv 2404.12674). Rows that are never read do not count. The sum is 1.
using ReuseShares = std::array<double, kReuseBins>;

/// Returns the bin of a row that is read `times` times, 1 or more.
[[nodiscard]] std::size_t reuse_bin(std::int64_t times);
/// Returns how often rows of a bin are read: the geometric mean of the bin's bounds.
[[nodiscard]] double bin_times(std::size_t bin);
/// Returns the mean number of reads per row.
[[nodiscard]] double mean_reuse(const ReuseShares& shares);
/// Returns the expected shares of `lookups` uniform draws from `rows` rows (Poisson).
[[nodiscard]] ReuseShares uniform_shares(double lookups, double rows);

/// An embedding table, and its use in a step.
struct EmbeddingTable {
  std::int64_t rows = 1;
  std::int64_t dim = 1;  ///< elements per row
  double pooling = 1;    ///< mean number of lookups per bag
  std::int64_t item_bytes = 4;
  double state_bytes = 0;                 ///< optimizer state per element: SGD 0, Adam 8
  std::optional<ReuseShares> reuse = {};  ///< unset: uniform draws
  bool operator==(const EmbeddingTable&) const = default;
};

/// Returns a floating-point type of that size, because integers count as indices.
[[nodiscard]] et_schema::DType type_of(std::int64_t item_bytes);
[[nodiscard]] double table_bytes(const EmbeddingTable& table);
/// Returns the table's bytes including its optimizer state.
[[nodiscard]] double held_bytes(const EmbeddingTable& table);
/// Returns the table's shares if set, otherwise those of uniform draws for `batch` bags.
[[nodiscard]] ReuseShares shares_of(const EmbeddingTable& table, double batch);

enum class Direction : std::uint8_t {
  kForward,  ///< lookups and their sums
  kBackward  ///< gradients of the looked-up rows, and their update
};

/// One call over one table or several fused tables.
struct EmbeddingCall {
  std::vector<EmbeddingTable> tables;
  std::int64_t batch = 1;  ///< number of bags
  Direction direction = Direction::kForward;
  bool operator==(const EmbeddingCall&) const = default;
};

/// Reads rows, dim and pooling; dtype and reuse are optional. Throws Error (bad input) with the
/// field if a size is below 1, the table has 2^62 bytes or more, or the shares do not add up to 1.
void read_value(const et_schema::JsonField& field, EmbeddingTable& table);
/// Writes the fields that read_value() reads (json_record.h).
[[nodiscard]] nlohmann::ordered_json json_value(const EmbeddingTable& table);

}  // namespace understudy::predictor
