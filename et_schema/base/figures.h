#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

namespace understudy::et_schema {

inline constexpr double kPercent = 100;  ///< in a whole

// Figures as people read them; "–" for unknown values.

[[nodiscard]] std::string figure_text(const std::optional<double>& value);   ///< "12.35"
[[nodiscard]] std::string change_text(const std::optional<double>& change);  ///< "+0.120"
/// "99.69 %"; "100.00 %" means all.
[[nodiscard]] std::string percent_text(const std::optional<double>& share);
[[nodiscard]] std::string share_text(double share);           ///< "84.2 %", rounded
[[nodiscard]] std::string with_commas(std::uint64_t number);  ///< "1,234,567"
[[nodiscard]] std::string with_bytes(std::uint64_t bytes);    ///< "1.5 KiB"
/// Returns "1 rank", "1,024 ranks", "2 passes".
[[nodiscard]] std::string counted(std::uint64_t count, const std::string& noun);
[[nodiscard]] std::string counted(std::signed_integral auto count, const std::string& noun) {
  return counted(static_cast<std::uint64_t>(count), noun);
}

}  // namespace understudy::et_schema
