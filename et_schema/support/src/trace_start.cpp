#include "et_schema/support/trace_start.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "et_schema/support/chakra_start.h"
#include "et_schema/support/json_scan.h"

namespace understudy::et_schema {
namespace {

using StartsAs = bool (*)(std::string_view start);
constexpr std::array<StartsAs, 1> kBinaryStarts = {starts_as_chakra};

}  // namespace

bool starts_as_binary_trace(std::string_view start) {
  return std::ranges::any_of(kBinaryStarts,
                             [start](StartsAs starts_as) { return starts_as(start); });
}

bool starts_as_trace(std::string_view start) {
  const std::size_t first = find_json_start(start);
  return (first < start.size() && start[first] == '{') || starts_as_binary_trace(start);
}

}  // namespace understudy::et_schema
