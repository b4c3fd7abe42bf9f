#pragma once

#include <string>
#include <string_view>

namespace understudy::et_schema {

/// The JSON of what Python's repr() writes of lists, tuples, texts, numbers, True, False and None.
/// Appends to `out`, so that several texts make one document. Throws Error (bad input) with the
/// character where it is none of these.
void append_json_of_python(std::string& out, std::string_view python);

}  // namespace understudy::et_schema
