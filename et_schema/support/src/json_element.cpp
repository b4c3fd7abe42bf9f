#include "et_schema/support/json_element.h"

#include "et_schema/support/quote.h"

namespace understudy::et_schema {

std::string describe(simdjson::dom::element element) {
  // Only messages need this text, and they show its start. The nesting was limited before.
  return quote(simdjson::minify(element));
}

}  // namespace understudy::et_schema
