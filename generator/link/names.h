#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace understudy::generator {

using NameId = std::uint32_t;

/// A name as Kineto writes it: backslashes become slashes, newlines are removed, and any other
/// character that is not printable ASCII makes the name "unknown". The number of a step is left
/// out, since steps are compared with each other.
[[nodiscard]] std::string as_profiled(std::string_view name);

/// Gives numbers to names; names that Kineto would write alike have one number.
class NameTable {
 public:
  /// `name` must outlive the table.
  [[nodiscard]] NameId number(std::string_view name);
  /// The same for a name whose equals share one address, as those of a Profile do; this hashes no
  /// text.
  [[nodiscard]] NameId number_interned(std::string_view name);
  [[nodiscard]] std::size_t size() const { return by_profiled_.size(); }

 private:
  std::unordered_map<std::string_view, NameId> by_text_;
  std::unordered_map<const char*, NameId> by_address_;
  std::unordered_map<std::string, NameId> by_profiled_;
};

}  // namespace understudy::generator
