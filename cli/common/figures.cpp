#include "common/figures.h"

#include <fmt/format.h>

#include <cmath>

namespace understudy::cli {
namespace {

constexpr const char* kUnknown = "–";

// Four significant digits or so, without an exponent.
int digits_after_point(double value) {
  const double size = std::abs(value);
  if (size >= 1000) {
    return 0;
  }
  if (size >= 100) {
    return 1;
  }
  return size >= 10 ? 2 : 3;
}

}  // namespace

std::string figure_text(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) {
    return kUnknown;
  }
  return fmt::format("{:.{}f}", *value, digits_after_point(*value));
}

std::string percent_text(const std::optional<double>& share) {
  if (!share || !std::isfinite(*share)) {
    return kUnknown;
  }
  constexpr double kHundredths = 10000;
  return fmt::format("{:.2f} %", std::floor(*share * kHundredths + 1e-9) / 100);
}

std::string share_text(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f} %", share * kPercent) : kUnknown;
}

}  // namespace understudy::cli
