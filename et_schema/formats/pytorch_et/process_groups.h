#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/losses.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// Maximum number of ranks. A higher number is damage, and must not become the size of lists.
inline constexpr int kMaxWorldSize = 1 << 20;

/// The process groups of a trace. If two entries have the same name, the later one is kept.
struct RecordedGroups {
  std::vector<ProcessGroup> groups;
  /// Address → name. record_param_comms of torch 2.0 to 2.3 records the address of a group.
  std::map<std::string, std::string, std::less<>> name_by_address;
  Losses losses;  ///< truncated lists of the observer, escaped names
};

/// Reads the process groups from the "## process_group:init ##" nodes of all versions. Throws Error
/// (bad input) that names the node.
[[nodiscard]] RecordedGroups read_process_groups(const Trace& trace);

/// Reads the file of groups that ASTRA-sim takes beside Chakra traces: {"1": [0, 2], …}. Returns
/// nothing for any other text.
[[nodiscard]] std::optional<std::vector<ProcessGroup>> read_comm_groups(const std::string& json);

}  // namespace understudy::et_schema
