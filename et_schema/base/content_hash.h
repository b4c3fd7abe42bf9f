#pragma once

#include <cstdint>
#include <string_view>

namespace understudy::et_schema {

/// XXH3 of the bytes.
[[nodiscard]] std::uint64_t content_hash(std::string_view bytes);

}  // namespace understudy::et_schema
