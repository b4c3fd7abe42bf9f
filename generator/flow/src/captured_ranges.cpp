#include "generator/flow/captured_ranges.h"

#include <charconv>
#include <optional>

namespace understudy::generator {
namespace {

/// Parses the next integer in the text, and removes the text up to its end.
std::optional<std::int64_t> take_integer(std::string_view& text) {
  const std::size_t begin = text.find_first_of("-0123456789");
  if (begin == std::string_view::npos) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), value);
  if (error != std::errc()) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace

std::vector<CapturedRange> parse_ranges(std::string_view json) {
  std::vector<CapturedRange> ranges;
  while (const std::optional<std::int64_t> tensor = take_integer(json)) {
    const std::optional<std::int64_t> min = take_integer(json);
    const std::optional<std::int64_t> max = take_integer(json);
    if (!min || !max || *tensor < 0 || *min > *max) {
      break;
    }
    ranges.push_back({static_cast<std::size_t>(*tensor), *min, *max});
  }
  return ranges;
}

CapturedRanges captured_ranges(const et_schema::Trace& trace) {
  CapturedRanges ranges;
  for (const et_schema::Node& node : trace.nodes) {
    if (!node.tensor_range.empty()) {
      ranges.emplace(node.id, parse_ranges(node.tensor_range));
    }
  }
  return ranges;
}

}  // namespace understudy::generator
