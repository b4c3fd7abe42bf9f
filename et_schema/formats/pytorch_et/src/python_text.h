#pragma once

#include <string>
#include <string_view>

namespace understudy::et_schema {

/// Converts Python's repr() of lists, tuples, texts, numbers, True, False and None to JSON. Appends
/// to `out`, so that several texts can form one document. Throws Error (bad input) with the
/// position of any other text.
void append_json_of_python(std::string& out, std::string_view python);

}  // namespace understudy::et_schema
