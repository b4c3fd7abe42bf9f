#include "et_schema/model/epsilon.h"

#include <charconv>

#include "et_schema/model/schema_text.h"

namespace understudy::et_schema {
namespace {

bool is_epsilon(std::string_view op, std::string_view argument) {
  if (argument == "eps" || argument == "epsilon") {
    return true;
  }
  // Adam's denominator. Nobody adds an exact zero to a list of tensors.
  return argument == "scalar" && (op == "aten::_foreach_add_" || op == "aten::_foreach_add");
}

/// Epsilons by operator; traces print six decimals, in which all of these are zero or lost.
double usual_epsilon(std::string_view op) {
  constexpr double kNormEpsilon = 1e-5;
  constexpr double kAdagradEpsilon = 1e-10;
  constexpr double kAdamEpsilon = 1e-8;
  if (op.find("norm") != std::string_view::npos) {
    return kNormEpsilon;
  }
  return op.find("fused_adagrad") != std::string_view::npos ? kAdagradEpsilon : kAdamEpsilon;
}

}  // namespace

std::optional<double> lost_epsilon(std::string_view op, std::string_view argument,
                                   std::string_view default_value, double recorded) {
  op = without_overload(op);
  if (recorded != 0 || !is_epsilon(op, argument)) {
    return std::nullopt;
  }
  double value = 0;
  const char* const end = default_value.data() + default_value.size();
  const auto [read, error] = std::from_chars(default_value.data(), end, value);
  const bool is_real = !default_value.empty() && error == std::errc() && read == end &&
                       default_value.find_first_of(".e") != std::string_view::npos;
  return is_real ? value : usual_epsilon(op);
}

}  // namespace understudy::et_schema
