#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "et_schema/bench/bench.h"
#include "et_schema/model/public_operators.h"
#include "et_schema/support/content_hash.h"

namespace understudy::et_schema {
namespace {

std::string hashed(std::string_view text) {
  return fmt::format("#{:016x}", content_hash(text));
}

/// "--subgraph encoder" → "--subgraph #…"; what has a fixed set of values tells nothing.
std::string hashed_filter(const std::string& filter) {
  const std::size_t blank = filter.find(' ');
  const bool tells_nothing = blank == std::string::npos || filter.starts_with("--only ") ||
                             filter.starts_with("--shapes-within ");
  // That of a benchmark which is written again is hashed already.
  if (tells_nothing || filter.find(" #") == blank) {
    return filter;
  }
  return filter.substr(0, blank + 1) + hashed(std::string_view(filter).substr(blank + 1));
}

}  // namespace

Selection hashed_names(Selection selection) {
  for (std::string& filter : selection.filters) {
    filter = hashed_filter(filter);
  }
  for (Opened& opened : selection.opened) {
    const bool stays = is_public_operator(opened.name) || opened.name.starts_with('#');
    opened.name = stays ? std::move(opened.name) : hashed(opened.name);
  }
  return selection;
}

}  // namespace understudy::et_schema
