#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace understudy::fuzz {

/// A table of operators is refused or read; what is written of it reads back as the same calls.
void check_operator_table(std::string_view input);
/// A platform file is refused or read; what is written of it reads back, and each of its devices
/// predicts calls with an interval around them.
void check_platform(std::string_view input);
/// A small platform file with every kind of model.
[[nodiscard]] std::string platform_seed();

}  // namespace understudy::fuzz
