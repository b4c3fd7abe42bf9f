#pragma once

#include <fmt/format.h>

#include <string>

#include "et_schema/base/shared_library.h"

namespace understudy::backends {

/// Returns the refusal for a missing `library`; `source` is a sentence on where to get it.
inline et_schema::SharedLibrary::Refusal cannot_use(const char* library, const char* source) {
  return [library, source](std::string expected, std::string got) {
    return et_schema::usage_error(
        fmt::format("{} cannot be used", library),
        {.field = library,
         .expected = std::move(expected),
         .got = std::move(got),
         .hint =
             fmt::format("{} --comms host sends tensors through host memory instead.", source)});
  };
}

}  // namespace understudy::backends
