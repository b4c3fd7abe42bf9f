#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "generator/matching/matching.h"

namespace understudy::matching {

// Format: number of communications; number of turns that follow (none if the order is the program's
// own); the turns; the numbers of the sends that are kept apart.
std::string to_text(const et_schema::CommOrder& order) {
  const bool is_programs = std::ranges::is_sorted(order.turns);
  std::string text = fmt::format("{} {}", order.turns.size(), is_programs ? 0 : order.turns.size());
  if (!is_programs) {
    text += fmt::format(" {}", fmt::join(order.turns, " "));
  }
  for (std::size_t send = 0; send < order.kept_apart.size(); ++send) {
    text += order.kept_apart[send] ? fmt::format(" {}", send) : "";
  }
  return text;
}

et_schema::CommOrder parse_order(const std::string& text) {
  std::istringstream numbers(text);
  const auto fail = [&text]() -> et_schema::Error {
    return et_schema::bad_input("the order of a rank's communications cannot be read",
                                {.expected = "numbers, as rank 0 of the same version writes them",
                                 .got = text.substr(0, 80),
                                 .hint = "all ranks must run the same version"});
  };
  std::uint32_t calls = 0;
  std::uint32_t listed = 0;
  if (!(numbers >> calls >> listed) || (listed != 0 && listed != calls)) {
    throw fail();
  }
  et_schema::CommOrder order;
  order.turns.resize(calls);
  std::iota(order.turns.begin(), order.turns.end(), 0);
  order.kept_apart.resize(calls);
  for (std::uint32_t i = 0; i < listed; ++i) {
    if (!(numbers >> order.turns[i]) || order.turns[i] >= calls) {
      throw fail();
    }
  }
  for (std::uint32_t send = 0; numbers >> send;) {
    if (send >= calls) {
      throw fail();
    }
    order.kept_apart[send] = true;
  }
  if (!numbers.eof()) {
    throw fail();
  }
  return order;
}

}  // namespace understudy::matching
