#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "et_schema/model/size_arguments.h"
#include "public_words.h"

namespace understudy::generator {

double rounded(double value) {
  if (!std::isfinite(value)) {
    return value;
  }
  if (value == std::trunc(value)) {
    const std::string digits = fmt::format("{:.17e}", value);
    return std::strtod(
        (digits.substr(0, digits.find('.')) + digits.substr(digits.find('e'))).c_str(), nullptr);
  }
  const double from_one = std::abs(value) - 1;
  if (std::abs(from_one) < 0.1) {
    return std::copysign(
        std::strtod(fmt::format("{:.15g}", 1 + rounded(from_one)).c_str(), nullptr), value);
  }
  return std::strtod(fmt::format("{:.0e}", value).c_str(), nullptr);
}

bool tells_size(std::string_view op, std::string_view argument) {
  const std::string_view name = et_schema::base_name(op);
  const bool counts = name == "arange" || name == "range";
  return counts ||
         (name.find("upsample") != std::string_view::npos && argument.starts_with("scale"));
}

bool is_seed(std::string_view argument) {
  return argument.find("seed") != std::string_view::npos;
}

bool counts_steps(std::string_view argument) {
  return argument == "iter";
}

}  // namespace understudy::generator
