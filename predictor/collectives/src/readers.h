#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/comms.h"
#include "predictor/calls/call.h"
#include "predictor/collectives/rows.h"

namespace understudy::predictor {

inline constexpr double kNsPerUs = 1e3;

/// Throws Error (bad input): a file cannot be read because `field` is not as expected.
[[noreturn]] void refuse_rows(const std::string& file, std::string field, std::string expected,
                              std::string got);

/// Returns a row's size: nccl-tests' size of a call with these elements on one rank; with splits
/// the larger side's. Returns nothing for negative numbers and for sizes beyond 64 bits.
[[nodiscard]] std::optional<std::int64_t> row_bytes(const CollectiveCall& call,
                                                    std::int64_t in_elements,
                                                    std::int64_t out_elements);

/// Returns what stands between blanks and commas.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view line);

/// Returns the number of ranks with this ratio of bus to algorithm bandwidth. Returns nothing if
/// the ratio does not depend on the ranks, or if no whole number of ranks has it within 1 %.
[[nodiscard]] std::optional<int> ranks_of_bus_factor(CommKind kind, double factor);

/// Returns the kind of an nccl-tests program that the text names ("build/all_reduce_perf").
[[nodiscard]] std::optional<CommKind> kind_of_program(std::string_view line);

/// Returns true if the text contains the header of an nccl-tests table.
[[nodiscard]] bool is_nccl_tests_text(std::string_view text);
[[nodiscard]] ReadCollectives parse_nccl_tests_text(std::string_view text, const std::string& file);

}  // namespace understudy::predictor
