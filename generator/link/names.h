#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace understudy::generator {

using NameId = std::uint32_t;

/// Returns a name as Kineto writes it. Backslashes become slashes, newlines are removed, and any
/// other character outside of printable ASCII makes the name "unknown". The number of a step is
/// removed, since steps are compared with each other.
[[nodiscard]] std::string as_profiled(std::string_view name);

/// Assigns numbers to names. Names that Kineto writes alike have the same number.
class NameTable {
 public:
  /// `name` must outlive the table.
  [[nodiscard]] NameId number(std::string_view name);
  /// As number(), but compares addresses instead of texts: equal names must share an address, as
  /// they do in a Profile.
  [[nodiscard]] NameId number_interned(std::string_view name);
  [[nodiscard]] std::size_t size() const { return by_profiled_.size(); }

 private:
  std::unordered_map<std::string_view, NameId> by_text_;
  std::unordered_map<const char*, NameId> by_address_;
  std::unordered_map<std::string, NameId> by_profiled_;
};

}  // namespace understudy::generator
