#pragma once

#include <string>
#include <utility>

#include "et_schema/base/error.h"

namespace understudy::et_schema {

/// The kind of failures to write an output: no room, no permission.
inline constexpr ErrorKind kCannotWrite{74};
[[nodiscard]] inline Error cannot_write(std::string summary, ErrorContext context) {
  return {kCannotWrite, std::move(summary), std::move(context)};
}

}  // namespace understudy::et_schema
