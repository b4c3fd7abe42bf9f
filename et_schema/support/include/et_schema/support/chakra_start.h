#pragma once

#include <string_view>

namespace understudy::et_schema {

/// Whether a file starts as a Chakra trace. That format has no mark of its own: a length and a
/// message of Chakra's metadata come first, then a length and a node. `start` may be cut anywhere.
[[nodiscard]] bool starts_as_chakra(std::string_view start);

}  // namespace understudy::et_schema
