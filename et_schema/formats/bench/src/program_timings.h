#pragma once

#include <string>
#include <string_view>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// The content of timings/R.jsonl: a header line, then one line for each instruction that has a
/// timing. Apart from the program's text, since ranks that share a program have times of their own.
[[nodiscard]] std::string timings_to_text(const Program& program);

/// Gives the program's instructions their timings. Throws Error (bad input) with the line: not
/// JSON, an instruction that is not there or out of order, a line too few or too many.
void apply_timings(std::string_view text, const std::string& file, Program& program);

}  // namespace understudy::et_schema
