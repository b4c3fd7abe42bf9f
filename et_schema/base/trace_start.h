#pragma once

#include <string>
#include <string_view>

namespace understudy::et_schema {

/// Whether a file starts as a Chakra trace. That format has no mark of its own: a length and a
/// message of Chakra's metadata come first, then a length and a node. `start` may be cut anywhere.
[[nodiscard]] bool starts_as_chakra(std::string_view start);

/// Whether a file starts as a trace whose format is not JSON. Each such format has its row in
/// trace_start.cpp. `start` may be cut anywhere.
[[nodiscard]] bool starts_as_binary_trace(std::string_view start);

/// Whether a file starts like that, or as a JSON object or a list of them; only such files of
/// folders and archives are read.
[[nodiscard]] bool starts_as_trace(std::string_view start);

/// Throws Error (bad input) with the name of the file or archive's member whose first bytes are
/// JSON that is nested too deep. A trace that is not JSON passes.
void refuse_deep_start(const std::string& name, std::string_view start);

}  // namespace understudy::et_schema
