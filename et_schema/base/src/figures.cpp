#include "et_schema/base/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace understudy::et_schema {
namespace {

constexpr const char* kUnknown = "–";

// Shows about four significant digits, without an exponent.
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

std::string change_text(const std::optional<double>& change) {
  const std::string text = figure_text(change);
  return text == kUnknown || std::signbit(*change) ? text : "+" + text;
}

std::string percent_text(const std::optional<double>& share) {
  if (!share || !std::isfinite(*share)) {
    return kUnknown;
  }
  constexpr double kMostOfAPart = 99.99;
  const double percent = *share * kPercent;
  return fmt::format("{:.2f} %", *share < 1 ? std::min(percent, kMostOfAPart) : percent);
}

std::string share_text(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f} %", share * kPercent) : kUnknown;
}

std::string with_commas(std::uint64_t number) {
  std::string text = fmt::format("{}", number);
  constexpr std::size_t kGroup = 3;
  for (std::size_t at = text.size(); at > kGroup;) {
    at -= kGroup;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string counted(std::uint64_t count, const std::string& noun) {
  const std::string plural = noun.ends_with('s') || noun.ends_with("ch") ? "es" : "s";
  return fmt::format("{} {}{}", with_commas(count), noun, count == 1 ? "" : plural);
}

std::string with_bytes(std::uint64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  constexpr double kStep = 1024;
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= kStep && unit + 1 < kUnits.size()) {
    value /= kStep;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace understudy::et_schema
