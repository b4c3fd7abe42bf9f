#include "capture/played/driver/knowledge.h"

#include <algorithm>
#include <iterator>

namespace played {

void Ranges::add(Range range) {
  remove(range);
  if (range.begin < range.end) {
    ends_.emplace(range.begin, range.end);
  }
}

void Ranges::remove(Range range) {
  const auto first = around(range.begin);
  auto at = ends_.lower_bound(first ? first->begin : range.begin);
  while (at != ends_.end() && at->first < range.end) {
    const auto [begin, end] = *at;
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

std::optional<Range> Ranges::around(std::uintptr_t address) const {
  const auto next = ends_.upper_bound(address);
  if (next == ends_.begin() || std::prev(next)->second <= address) {
    return std::nullopt;
  }
  return Range{std::prev(next)->first, std::prev(next)->second};
}

std::vector<Range> Ranges::parts(Range range) const {
  std::vector<Range> parts;
  if (const auto first = around(range.begin)) {
    parts.push_back({range.begin, std::min(first->end, range.end)});
  }
  for (auto next = ends_.upper_bound(range.begin); next != ends_.end() && next->first < range.end;
       ++next) {
    parts.push_back({next->first, std::min(next->second, range.end)});
  }
  return parts;
}

void Knowledge::add_card_memory(Range range) {
  remove_memory(range);
  card_.add(range);
}

void Knowledge::remove_memory(Range range) {
  for (Ranges* ranges : {&card_, &pieces_, &known_}) {
    ranges->remove(range);
  }
}

void Knowledge::give(Range piece) {
  known_.remove(piece);
  pieces_.add(piece);
}

void Knowledge::know(Range range) {
  if (is_card(range)) {
    known_.add(range);
  } else {
    assumed_.remove(range);
  }
}

void Knowledge::assume(Range range) {
  if (is_card(range)) {
    known_.remove(range);
  } else {
    assumed_.add(range);
  }
}

bool Knowledge::is_assumed(Range range) const {
  return is_card(range) ? !known_.covers(range) : !assumed_.parts(range).empty();
}

void Knowledge::write(std::uintptr_t pointer) {
  const auto piece = pieces_.around(pointer);
  if (piece && !is_card(*piece)) {
    assumed_.add(*piece);
  } else if (piece) {
    forget(*piece);
  } else if (const auto known = known_.around(pointer)) {
    forget(*known);
  }
}

void Knowledge::forget(Range range) {
  for (const Range& part : known_.parts(range)) {
    known_.remove(part);
    if (forgotten_ != nullptr) {
      forgotten_(reinterpret_cast<const void*>(part.begin), part.end - part.begin);
    }
  }
}

void Knowledge::carry(Range to, Range from) {
  if (from.begin == from.end || is_assumed(from)) {
    assume(to);
  } else {
    know(to);
  }
}

}  // namespace played
