#include <string>
#include <string_view>

#include "generator/flow/model_names.h"
#include "generator/lowering/lowering.h"

namespace understudy::generator {
namespace {

/// Returns a plausible Python scalar. mul_ most often decays a moving average (momentum), which
/// would grow without bound with a factor of 1.
double likely_scalar(std::string_view operator_name) {
  if (operator_name.starts_with("aten::add") || operator_name.starts_with("aten::sub")) {
    return 0.5;
  }
  return operator_name == "aten::mul_" ? 0.9 : 1;
}

}  // namespace

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

et_schema::ValueRule python_number_rule(const Trace& trace, const Node& reader) {
  const ValueRule likely{ValueRule::Constant{likely_scalar(reader.name)}, "a Python number"};
  const Node* above = reader.parent == kNoNode ? nullptr : &trace.nodes[reader.parent];
  if (above == nullptr || above->name.substr(0, reader.name.size()) != reader.name) {
    return likely;
  }
  for (const Value& value : above->inputs) {
    if (value.is(ValueKind::kDouble) || value.is(ValueKind::kInt)) {
      const double number =
          value.is(ValueKind::kDouble) ? value.as_double() : static_cast<double>(value.as_int());
      return {ValueRule::Constant{number}, "the number in the operator above"};
    }
  }
  return likely;
}

}  // namespace understudy::generator
