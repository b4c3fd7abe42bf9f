#pragma once

#include <string>
#include <string_view>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// What the text of a program holds.
enum class TextDetail : std::uint8_t {
  kFull,
  /// Without what ranks of the same behaviour may differ in (see program_differences.h); devices
  /// are numbered in order of appearance. Two programs share a file if these texts are equal.
  kBehaviour
};

/// The content of programs/K.jsonl: a header line, then one schema, storage, slot or instruction a
/// line. Selection and losses are not in it: they stand in the manifest. docs/formats.md has the
/// notation.
[[nodiscard]] std::string program_to_text(const Program& program,
                                          TextDetail detail = TextDetail::kFull);

/// Reads program_to_text's full text. Throws Error (bad input) with the line: not JSON, a line that
/// is missing or out of order, an unknown name. References are checked by check_program.
[[nodiscard]] Program program_from_text(std::string_view text, const std::string& file);

/// Instructions nest at most this deep in bodies, arguments this deep in lists.
inline constexpr std::uint64_t kMaxBodyDepth = 200;
inline constexpr int kMaxListDepth = 60;

/// The strides of a dense row-major tensor; false if they overflow.
[[nodiscard]] bool contiguous_strides(const std::vector<std::int64_t>& sizes,
                                      std::vector<std::int64_t>& strides);

/// The content of timings/R.jsonl: a header line, then one line for each instruction that has a
/// timing. Apart from the program's text, since ranks that share a program have times of their own.
[[nodiscard]] std::string timings_to_text(const Program& program);

/// Gives the program's instructions their timings. Throws Error (bad input) with the line: not
/// JSON, an instruction that is not there or out of order, a line too few or too many.
void apply_timings(std::string_view text, const std::string& file, Program& program);

}  // namespace understudy::et_schema
