#include "et_schema/support/json_depth.h"

#include <fmt/format.h>

#include "et_schema/support/error.h"
#include "et_schema/support/json_scan.h"
#include "et_schema/support/trace_start.h"

namespace understudy::et_schema {

void fail_too_deep() {
  throw bad_input("brackets nested too deep",
                  {.field = "nodes",
                   .expected = fmt::format("at most {} brackets inside each other", kMaxJsonDepth),
                   .got = "more"});
}

void refuse_deep_start(std::string_view start) {
  const std::size_t position = find_json_start(start);
  if (position < start.size() && (start[position] == '{' || start[position] == '[') &&
      scan_brackets(start, position).status == ScanStatus::kTooDeep) {
    fail_too_deep();
  }
}

void refuse_deep_start(const std::string& name, std::string_view start) {
  if (starts_as_binary_trace(start)) {
    return;
  }
  try {
    refuse_deep_start(start);
  } catch (const Error& error) {
    throw error.with_file(name);
  }
}

}  // namespace understudy::et_schema
