#pragma once

#include <string_view>
#include <vector>

namespace understudy::fuzz {

/// What holds of any bytes given as a trace to compile: they are refused, or the program made of
/// them is written and read again as the same. A violation throws std::logic_error. Options and
/// number of ranks are chosen by the content.
void check_program(std::string_view input);

/// Texts of traces, for mutations: operator schemas that the rules on values know, names of labels
/// and collectives, types, devices.
[[nodiscard]] const std::vector<std::string_view>& trace_texts();

}  // namespace understudy::fuzz
