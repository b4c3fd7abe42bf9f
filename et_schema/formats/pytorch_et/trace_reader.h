#pragma once

#include <string>
#include <string_view>

#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// Reads one PyTorch execution trace of any schema from 1.0.0 on, by the presence of fields.
///
/// `json` is the uncompressed file; it is not kept. `file` names it in errors. What the observer is
/// known to write wrongly (missing or trailing commas, unescaped names, a cut-off end) is repaired
/// and counted in Trace::losses. Throws Error (bad input): not JSON, not an execution trace (a
/// Kineto file is named as such), unknown schema, a node that is its own ancestor, duplicate ids,
/// sizes that overflow, values nested too deep. Linear in the input's size.
[[nodiscard]] Trace parse_trace(std::string_view json, const std::string& file);

}  // namespace understudy::et_schema
