#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/trace.h"

namespace understudy::cli {

/// By node: "forward", "backward", "optimizer" or "data" (a DataLoader's), told by the labels
/// around it; what none of them is around is forward.
[[nodiscard]] std::vector<std::string_view> phases_of(const et_schema::Trace& trace);

/// By node: the program's own labels (record_function) around it, outermost first, joined by "/";
/// of a backward pass those around the operator that it belongs to. Empty: none.
[[nodiscard]] std::vector<std::string> modules_of(const et_schema::Trace& trace);

}  // namespace understudy::cli
