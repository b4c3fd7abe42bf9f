#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

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
  [[nodiscard]] std::optional<Range> around(std::uintptr_t address) const;
  /// What of this range is in one of them, by address.
  [[nodiscard]] std::vector<Range> parts(Range range) const;

 private:
  std::map<std::uintptr_t, std::uintptr_t> ends_;  ///< by begin
};

/// Says which bytes hold what a program would find there on a real card. The others are assumed.
/// Bytes of the host are known until they are assumed, bytes of the card assumed until known.
class Knowledge {
 public:
  void add_card_memory(Range range);
  /// Memory of the host that kernels may write: a piece.
  void add_host_memory(Range range) { pieces_.add(range); }
  /// Memory of either that is given back.
  void remove_memory(Range range);
  /// A tensor's piece of the card's memory: assumed, and written as a whole.
  void give(Range piece);
  void know(Range range);
  void assume(Range range);
  /// Whether a part of it is assumed.
  [[nodiscard]] bool is_assumed(Range range) const;
  /// A kernel was given this pointer. The piece that it points into becomes assumed; outside of all
  /// pieces, the known range around it does.
  void write(std::uintptr_t pointer);
  /// A copy knows what its source knows, as a whole; nothing if it copies nothing of it.
  void carry(Range to, Range from);
  void on_forgotten(void (*told)(const void* at, std::size_t bytes)) { forgotten_ = told; }

 private:
  [[nodiscard]] bool is_card(Range range) const { return !card_.parts(range).empty(); }
  void forget(Range range);

  Ranges card_;
  Ranges pieces_;
  Ranges known_;    ///< of the card
  Ranges assumed_;  ///< of the host
  void (*forgotten_)(const void* at, std::size_t bytes) = nullptr;
};

}  // namespace played
