#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "et_schema/model/losses.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// No job has more ranks: a higher number in a file is damage, and would be the size of lists.
inline constexpr int kMaxWorldSize = 1 << 20;

/// The process groups of a trace. Of two entries of one name the later one stays.
struct RecordedGroups {
  std::vector<ProcessGroup> groups;
  /// Name by the number that record_param_comms gives in torch 2.0 to 2.3: an address.
  std::map<std::string, std::string, std::less<>> name_by_address;
  Losses losses;  ///< lists that the observer cut off in the middle, names
};

/// Reads the process groups from the "## process_group:init ##" nodes of all eras. Throws Error
/// (bad input) with the node set.
[[nodiscard]] RecordedGroups read_process_groups(const Trace& trace);

}  // namespace understudy::et_schema
