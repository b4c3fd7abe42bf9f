#pragma once

#include <simdjson.h>

#include <string>

namespace understudy::et_schema {

/// The start of an element as JSON, at most 60 bytes, for an error message.
[[nodiscard]] std::string describe(simdjson::dom::element element);

}  // namespace understudy::et_schema
