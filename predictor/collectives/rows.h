#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/collective_rows/collective_rows.h"

namespace understudy::predictor {

using et_schema::CollectiveCall;
using et_schema::CollectiveRow;
using et_schema::CommKind;
using et_schema::DType;
using et_schema::RepetitionsNs;

/// Rows of a file, and the number of omitted lines.
struct ReadCollectives {
  std::vector<CollectiveRow> rows;
  /// Number of unusable lines by reason (docs/formats.md, "Collective rows").
  std::map<std::string, std::uint64_t> left_out = {};
};

/// Returns true if parse_collective_rows() can read the text. The content decides.
[[nodiscard]] bool is_collective_rows(std::string_view text);

/// Reads measured communication. The content decides the format:
/// - Understudy's own rows (collective_rows.h);
/// - nccl-tests' text: out-of-place times, in-place if there are no others.
/// Throws Error (bad input) if the format is none of these, the file is damaged, no row is usable,
/// or a number is NaN.
/// Understudy's own rows may lack their times unless `needs_times`.
[[nodiscard]] ReadCollectives parse_collective_rows(std::string_view text, const std::string& file,
                                                    bool needs_times = true);

}  // namespace understudy::predictor
