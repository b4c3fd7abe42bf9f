#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace understudy::cli {

inline constexpr double kPercent = 100;  ///< in a whole

// Figures as people read them; "–" for unknown values.

[[nodiscard]] std::string figure_text(const std::optional<double>& value);  ///< "12.35"
/// "99.69 %"; "100.00 %" means all.
[[nodiscard]] std::string percent_text(const std::optional<double>& share);
[[nodiscard]] std::string share_text(double share);           ///< "84.2 %", rounded
[[nodiscard]] std::string with_commas(std::uint64_t number);  ///< "1,234,567"
[[nodiscard]] std::string with_bytes(std::uint64_t bytes);    ///< "1.5 KiB"

}  // namespace understudy::cli
