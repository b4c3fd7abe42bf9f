#include "python_number.h"

#include <string_view>

#include "generator/flow/model_names.h"

namespace understudy::generator {

using et_schema::Value;
using et_schema::ValueKind;

namespace {

/// A tensor that is multiplied in place by a Python number is most often an average that decays
/// (momentum), and would grow with a factor of 1.
double likely_scalar(std::string_view operator_name) {
  if (operator_name.starts_with("aten::add") || operator_name.starts_with("aten::sub")) {
    return 0.5;
  }
  return operator_name == "aten::mul_" ? 0.9 : 1;
}

}  // namespace

et_schema::ValueRule python_number_rule(const Trace& trace, const Node& reader) {
  using et_schema::ValueRule;
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
