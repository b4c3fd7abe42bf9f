#pragma once

#include <string>
#include <string_view>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// Content of a program's text.
enum class TextDetail : std::uint8_t {
  kFull,
  /// Omits the details in which ranks of the same behaviour may differ (program_differences.h).
  /// Devices and groups are numbered in order of appearance. Programs with equal texts share a
  /// file.
  kBehaviour,
  kGroupsInOrder  ///< everything, but groups are numbered in order of appearance
};

/// Returns the content of programs/K.jsonl: a header line, then one schema, storage, slot or
/// instruction per line. The manifest holds selection and losses. Notation: docs/formats.md.
[[nodiscard]] std::string program_to_text(const Program& program,
                                          TextDetail detail = TextDetail::kFull);

/// Parses the full text of program_to_text(). Throws Error (bad input) with the line if it is not
/// JSON, is missing or out of order, or has an unknown name. check_program() checks references.
[[nodiscard]] Program program_from_text(std::string_view text, const std::string& file);

/// Maximum nesting of instructions in bodies, and of arguments in lists.
inline constexpr std::uint64_t kMaxBodyDepth = 200;
inline constexpr int kMaxListDepth = 60;

/// Sets `strides` to those of a dense row-major tensor. Returns false if they overflow.
[[nodiscard]] bool contiguous_strides(const std::vector<std::int64_t>& sizes,
                                      std::vector<std::int64_t>& strides);

/// Returns the content of timings/R.jsonl: a header line, then one line for each instruction with a
/// timing. The timings are separate because ranks that share a program differ in their times.
[[nodiscard]] std::string timings_to_text(const Program& program);

/// Sets the timings of the program's instructions. Throws Error (bad input) with the line if it is
/// not JSON, its instruction does not exist or is out of order, or lines are missing or left over.
void apply_timings(std::string_view text, const std::string& file, Program& program);

}  // namespace understudy::et_schema
