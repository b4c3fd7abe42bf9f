#pragma once

#include <string_view>

namespace understudy::fuzz {

/// A text is a plan, or is refused as bad input with a sentence and a line of the file; nothing
/// else. A violation throws std::logic_error.
void check_plan(std::string_view input);

}  // namespace understudy::fuzz
