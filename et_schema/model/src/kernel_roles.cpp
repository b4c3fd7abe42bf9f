#include "et_schema/model/kernel_roles.h"

#include <algorithm>
#include <utility>

namespace understudy::et_schema {

std::optional<std::vector<std::string_view>> kernel_roles(std::string_view text,
                                                          std::size_t arguments) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  std::vector<std::string_view> roles;
  for (std::size_t at = text.find_first_not_of(kSpace); at != std::string_view::npos;
       at = text.find_first_not_of(kSpace, at)) {
    const std::size_t end = std::min(text.find_first_of(kSpace, at), text.size());
    roles.push_back(text.substr(at, end - at));
    at = end;
  }
  return roles.size() == arguments ? std::optional(std::move(roles)) : std::nullopt;
}

}  // namespace understudy::et_schema
