#pragma once

#include <cstdint>
#include <string_view>

namespace understudy::et_schema {

/// Returns the XXH3 hash of the bytes.
[[nodiscard]] std::uint64_t content_hash(std::string_view bytes);

}  // namespace understudy::et_schema
