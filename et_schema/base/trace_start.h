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

/// A kind of file that users try in place of a trace or a profile.
struct OtherFile {
  std::string_view start;   ///< of the file; empty: its name decides
  std::string_view part;    ///< occurs near the start
  std::string_view ending;  ///< of the name, for formats whose first bytes are not public
  std::string_view name;    ///< "a report of Nsight Systems"
  std::string_view reason;  ///< why it does not do
  std::string_view advice;  ///< what to record or give instead
};

/// Returns the kind of another tool's file; null for other files.
[[nodiscard]] const OtherFile* find_other_file(std::string_view text, std::string_view name);

/// Returns true if a file starts as a trace whose format is not JSON. Each such format has a row in
/// trace_start.cpp. `start` may be cut anywhere.
[[nodiscard]] bool starts_as_binary_trace(std::string_view start);

/// Returns true if a file starts as a binary trace, a JSON object or a list of objects. Only such
/// files of folders and archives are read.
[[nodiscard]] bool starts_as_trace(std::string_view start);

/// Throws Error (bad input) if the first bytes of a file or an archive's member, `name`, are JSON
/// that is nested too deep. Accepts binary traces.
void refuse_deep_start(const std::string& name, std::string_view start);

}  // namespace understudy::et_schema
