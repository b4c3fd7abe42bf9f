#pragma once

#include <string>
#include <string_view>

namespace understudy::et_schema {

/// Returns true if a file starts as a Chakra trace. The format has no magic number: a length and
/// Chakra's metadata message come first, then a length and a node. `start` may be cut anywhere.
[[nodiscard]] bool starts_as_chakra(std::string_view start);

/// Returns true for a Chakra trace from before Chakra had metadata: its first message is a node.
[[nodiscard]] bool starts_as_chakra_node(std::string_view start);
/// Returns true if a message has only fields of today's nodes, as the nodes of 2022 have not.
[[nodiscard]] bool is_chakra_node(std::string_view message);

/// Returns true if a file starts as a Chakra trace, a JSON object or a list of objects. Only such
/// files of folders and archives are read.
[[nodiscard]] bool starts_as_trace(std::string_view start);

/// Returns true for a file of another tool or in another packing, which users try in place of a
/// trace or a profile.
[[nodiscard]] bool is_other_file(std::string_view start, std::string_view name);

/// Throws Error (bad input) if the first bytes of a file `name` are such a file's, or JSON that is
/// nested too deep. Accepts Chakra traces.
void refuse_other_file(const std::string& name, std::string_view start);

}  // namespace understudy::et_schema
