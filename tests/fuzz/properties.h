#pragma once

#include <string_view>

/// What must hold for every input of a reader: it gives a valid result or throws Error (bad input)
/// with a message, and nothing else. Each property is a fuzz target, and a unit test over the
/// corpus and seeded mutations of it. A violation throws std::logic_error.
namespace understudy::fuzz {

void check_trace(std::string_view input);
void check_input_files(std::string_view input);
void check_kineto(std::string_view input);
void check_capture(std::string_view input);
void check_chakra(std::string_view input);
void check_indices(std::string_view input);

}  // namespace understudy::fuzz
