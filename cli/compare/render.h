#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "compare/inputs.h"
#include "comparer/compare.h"

namespace understudy::cli {

/// "class", "operator", …: as csv and JSON name the kinds of rows.
[[nodiscard]] std::string_view kind_name(comparer::RowKind kind);

/// Tables for people: what is compared, how the environments differ, the rows by cost, and a last
/// sentence. `top`: most rows of the table of operators.
[[nodiscard]] std::string comparison_text(const comparer::Comparison& comparison,
                                          const ComparedRuns& runs, std::size_t top);

/// The last sentence alone: what is slower, faster, shown to be the same, unsure.
[[nodiscard]] std::string verdict_sentence(const comparer::Comparison& comparison);

/// What would make an unsure comparison surer; may be empty.
[[nodiscard]] std::string comparison_advice(const comparer::Comparison& comparison,
                                            const ComparedRuns& runs);

/// docs/formats.md, "compare --format json".
[[nodiscard]] std::string comparison_json(const comparer::Comparison& comparison,
                                          const ComparedRuns& runs);

/// One row a line, then all other figures of the JSON, in the column `value`.
[[nodiscard]] std::string comparison_csv(const comparer::Comparison& comparison,
                                         const ComparedRuns& runs);

}  // namespace understudy::cli
