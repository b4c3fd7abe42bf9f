#include "generator/link/names.h"

#include <algorithm>

#include "generator/flow/steps.h"

namespace understudy::generator {
namespace {

bool is_printable(char c) {
  return c >= ' ' && c <= '~';
}

}  // namespace

std::string as_profiled(std::string_view name) {
  if (is_step_mark(name)) {
    return std::string(kStepMark);
  }
  std::string text(name);
  std::erase(text, '\n');
  std::ranges::replace(text, '\\', '/');
  return std::ranges::all_of(text, is_printable) ? text : "unknown";
}

NameId NameTable::number(std::string_view name) {
  const auto known = by_text_.find(name);
  if (known != by_text_.end()) {
    return known->second;
  }
  const auto next = static_cast<NameId>(by_profiled_.size());
  const NameId id = by_profiled_.try_emplace(as_profiled(name), next).first->second;
  by_text_.emplace(name, id);
  return id;
}

NameId NameTable::number_interned(std::string_view name) {
  const auto [known, is_new] = by_address_.try_emplace(name.data(), 0);
  if (is_new) {
    known->second = number(name);
  }
  return known->second;
}

}  // namespace understudy::generator
