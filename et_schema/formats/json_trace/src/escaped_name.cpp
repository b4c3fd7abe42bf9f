#include "et_schema/formats/json_trace/escaped_name.h"

#include "et_schema/base/control_characters.h"

namespace understudy::et_schema {

std::string_view escaped_name(std::string_view name, Arena& arena, Losses& losses) {
  return has_control_characters(name) ? arena.copy(escaped_name(name, losses)) : name;
}

std::string escaped_name(std::string_view name, Losses& losses) {
  losses.add(Loss::kEscapedNames, has_control_characters(name) ? 1 : 0);
  return escape_control_characters(name);
}

std::string_view InternedNames::operator()(std::string_view text) {
  if (text.empty()) {
    return {};
  }
  if (const auto found = names_.find(text); found != names_.end()) {
    return found->second;
  }
  const std::string_view copy = arena_.copy(text);
  return names_.emplace(copy, escaped_name(copy, arena_, losses_)).first->second;
}

}  // namespace understudy::et_schema
