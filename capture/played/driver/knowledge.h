#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace played {

/// Addresses of memory, without their end.
struct Range {
  std::uintptr_t begin;
  std::uintptr_t end;
  bool operator==(const Range&) const = default;
};

[[nodiscard]] inline Range range_of(const void* at, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  return {begin, begin + bytes};
}

/// Ranges that do not overlap; each stays as it was added, but for what is taken away from it.
class Ranges {
 public:
  void add(Range range);
  void remove(Range range);
  [[nodiscard]] bool covers(Range range) const;
  [[nodiscard]] bool touches(Range range) const;
  [[nodiscard]] std::optional<Range> around(std::uintptr_t address) const;

 private:
  std::map<std::uintptr_t, std::uintptr_t> ends_;  ///< by begin
};

/// Says which bytes hold what a program would find there on a real card. The others are assumed.
/// Bytes of the host are known until they are assumed, bytes of the card assumed until known.
class Knowledge {
 public:
  void add_card_memory(Range range);
  void remove_card_memory(Range range);
  /// A tensor's piece of the card's memory: assumed, and written as a whole.
  void give(Range piece);
  void know(Range range);
  void assume(Range range);
  /// Whether a part of it is assumed.
  [[nodiscard]] bool is_assumed(Range range) const;
  /// A kernel has this pointer: the piece that it points into is assumed; else, the known range.
  void write(std::uintptr_t pointer);
  /// A copy knows what its source knows, as a whole.
  void carry(std::uintptr_t to, std::uintptr_t from, std::size_t bytes);

 private:
  Ranges card_;
  Ranges pieces_;
  Ranges known_;    ///< of the card
  Ranges assumed_;  ///< of the host
};

}  // namespace played
