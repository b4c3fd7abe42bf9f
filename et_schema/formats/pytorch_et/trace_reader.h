#pragma once

#include <string>
#include <string_view>

#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// Parses a PyTorch execution trace of any schema from 1.0.0 on, detected by the fields present.
///
/// `json` is the uncompressed file and is not kept; `file` names it in errors. Known damage by the
/// observer (missing or trailing commas, unescaped names, a cut-off end) is repaired and counted in
/// Trace::losses. Throws Error (bad input) if the text is not JSON or not an execution trace
/// (Kineto files are recognised), the schema is unknown, a node is its own ancestor, ids are not
/// unique, sizes overflow, or values are nested too deep. Linear in the input's size.
[[nodiscard]] Trace parse_trace(std::string_view json, const std::string& file);

}  // namespace understudy::et_schema
