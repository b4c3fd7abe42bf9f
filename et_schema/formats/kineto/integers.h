#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace understudy::et_schema {

/// Returns the numbers in "[1, 2]"; skips anything else.
[[nodiscard]] std::vector<std::int64_t> integers_in(std::string_view text);

}  // namespace understudy::et_schema
