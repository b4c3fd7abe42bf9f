#pragma once

#include <optional>
#include <string_view>

namespace understudy::et_schema {

/// Traces print doubles with six decimals, in which every usual epsilon is zero. The operator's own
/// one, where an argument is such an epsilon that was recorded as zero; else nothing. `op` may have
/// an overload; `default_value` is the schema's text, or empty.
[[nodiscard]] std::optional<double> lost_epsilon(std::string_view op, std::string_view argument,
                                                 std::string_view default_value, double recorded);

}  // namespace understudy::et_schema
