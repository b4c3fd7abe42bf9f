#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace understudy::et_schema {

/// Names of the values 0 to kLast of an enumeration, in order. Does not compile with too few or too
/// many names.
///
///     constexpr EnumNames<Sandbox::kOff> kNames("auto", "on", "off");
template <auto kLast>
class EnumNames {
 public:
  using Enum = decltype(kLast);
  static constexpr std::size_t kSize = static_cast<std::size_t>(kLast) + 1;

  template <typename... Names>
  requires(sizeof...(Names) == kSize) explicit constexpr EnumNames(Names... names)
      : names_{names...} {}

  [[nodiscard]] constexpr std::string_view operator[](Enum value) const {
    return names_[static_cast<std::size_t>(value)];
  }
  [[nodiscard]] constexpr std::optional<Enum> find(std::string_view name) const {
    const auto found = std::ranges::find(names_, name);
    return found == names_.end() ? std::nullopt
                                 : std::optional(static_cast<Enum>(found - names_.begin()));
  }

 private:
  std::array<std::string_view, kSize> names_;
};

}  // namespace understudy::et_schema
