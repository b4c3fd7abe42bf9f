#include "capture/played/driver/knowledge.h"

#include <iterator>

namespace played {

void Ranges::add(Range range) {
  remove(range);
  if (range.begin < range.end) {
    ends_.emplace(range.begin, range.end);
  }
}

void Ranges::remove(Range range) {
  auto at = ends_.upper_bound(range.begin);
  if (at != ends_.begin()) {
    at = std::prev(at);
  }
  while (at != ends_.end() && at->first < range.end) {
    const auto [begin, end] = *at;
    if (end <= range.begin) {
      ++at;
      continue;
    }
    at = ends_.erase(at);
    if (begin < range.begin) {
      ends_.emplace(begin, range.begin);
    }
    if (range.end < end) {
      ends_.emplace(range.end, end);
    }
  }
}

bool Ranges::covers(Range range) const {
  while (range.begin < range.end) {
    const auto found = around(range.begin);
    if (!found) {
      return false;
    }
    range.begin = found->end;
  }
  return true;
}

bool Ranges::touches(Range range) const {
  const auto next = ends_.lower_bound(range.begin);
  return around(range.begin).has_value() || (next != ends_.end() && next->first < range.end);
}

std::optional<Range> Ranges::around(std::uintptr_t address) const {
  const auto next = ends_.upper_bound(address);
  if (next == ends_.begin() || std::prev(next)->second <= address) {
    return std::nullopt;
  }
  return Range{std::prev(next)->first, std::prev(next)->second};
}

void Knowledge::add_card_memory(Range range) {
  remove_card_memory(range);
  assumed_.remove(range);
  card_.add(range);
}

void Knowledge::remove_card_memory(Range range) {
  for (Ranges* ranges : {&card_, &pieces_, &known_}) {
    ranges->remove(range);
  }
}

void Knowledge::give(Range piece) {
  known_.remove(piece);
  pieces_.add(piece);
}

void Knowledge::know(Range range) {
  if (card_.touches(range)) {
    known_.add(range);
  } else {
    assumed_.remove(range);
  }
}

void Knowledge::assume(Range range) {
  if (card_.touches(range)) {
    known_.remove(range);
  } else {
    assumed_.add(range);
  }
}

bool Knowledge::is_assumed(Range range) const {
  return card_.touches(range) ? !known_.covers(range) : assumed_.touches(range);
}

void Knowledge::write(std::uintptr_t pointer) {
  if (const auto piece = pieces_.around(pointer)) {
    known_.remove(*piece);
  } else if (const auto known = known_.around(pointer)) {
    known_.remove(*known);
  }
}

void Knowledge::carry(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
  const Range written{to, to + bytes};
  if (is_assumed({from, from + bytes})) {
    assume(written);
  } else {
    know(written);
  }
}

}  // namespace played
