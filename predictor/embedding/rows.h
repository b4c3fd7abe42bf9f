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
  double spread_ns = 0;  ///< half of p90 - p10 of the repetitions; 0: unknown
  std::size_t n = 1;     ///< number of repetitions
  std::string source;
  bool operator==(const EmbeddingRow&) const = default;
};

inline constexpr int kEmbeddingRowsVersion = 1;

/// Writes a header line, then a JSON line for each row (docs/formats.md, "Embedding rows").
[[nodiscard]] std::string to_json_lines(const std::vector<EmbeddingRow>& rows);

/// Reads that format. Throws Error (bad input) with line and field if the format is another, a row
/// has no table, a size is below 1, or a time is not finite and above 0.
[[nodiscard]] std::vector<EmbeddingRow> parse_embedding_rows(std::string_view text,
                                                             const std::string& file);

}  // namespace understudy::predictor
