#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "predictor/embedding/tables.h"

namespace understudy::predictor {

/// One measured call over embedding tables.
struct EmbeddingRow {
  EmbeddingCall call;
  double median_ns = 0;
  double spread_ns = 0;  ///< half of p90 - p10 of the repetitions; 0: not known
  std::size_t n = 1;     ///< repetitions
  std::string source;
  bool operator==(const EmbeddingRow&) const = default;
};

inline constexpr int kEmbeddingRowsVersion = 1;

/// A header line, then a JSON line a row (docs/formats.md, "Embedding rows").
[[nodiscard]] std::string to_json_lines(const std::vector<EmbeddingRow>& rows);

/// Reads it back. Throws Error (bad input) with line and field: not this format, no table, sizes
/// below 1, a time that is not finite and above 0.
[[nodiscard]] std::vector<EmbeddingRow> parse_embedding_rows(std::string_view text,
                                                             const std::string& file);

}  // namespace understudy::predictor
