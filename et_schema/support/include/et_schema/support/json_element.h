#pragma once

#include <simdjson.h>

#include <string>

namespace understudy::et_schema {

/// What an element is, for an error message: its start as JSON, at most 60 bytes.
[[nodiscard]] std::string describe(simdjson::dom::element element);

}  // namespace understudy::et_schema
