#include "generator/lowering/plain_argument.h"

#include <string>

namespace understudy::generator {

using et_schema::Argument;
using et_schema::Value;
using et_schema::ValueKind;

Argument plain_argument(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kBool:
      return {value.as_bool()};
    case ValueKind::kInt:
      return {value.as_int()};
    case ValueKind::kDouble:
      return {value.as_double()};
    case ValueKind::kString:
      return {std::string(value.text())};
    case ValueKind::kDevice:
      return {Argument::DeviceRef{et_schema::parse_device(value.text())}};
    case ValueKind::kOpaque:
      return {Argument::Opaque{std::string(value.text())}};
    default:
      return {Argument::None{}};
  }
}

}  // namespace understudy::generator
