#include "json_element.h"

#include "quote.h"

namespace understudy::et_schema {

std::string describe(simdjson::dom::element element) {
  // Only messages need this text, and they show its start: the nesting was bounded before.
  return quote(simdjson::minify(element));
}

}  // namespace understudy::et_schema
