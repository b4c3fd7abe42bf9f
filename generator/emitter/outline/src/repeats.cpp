#include "generator/emitter/outline/repeats.h"

#include <algorithm>

namespace understudy::emitter {
namespace {

constexpr std::size_t kLeastPeriod = 2;
constexpr std::size_t kLeastSaved = 4;
constexpr std::size_t kLongestPeriod = 4096;

/// `length` tokens from `begin` that repeat with a period, the first occurrence included.
struct Run {
  std::size_t begin = 0;
  std::size_t period = 0;
  std::size_t length = 0;
  [[nodiscard]] std::size_t saved() const {
    return period == 0 ? 0 : (length / period - 1) * period;
  }
};

Run find_longest(std::span<const std::uint32_t> tokens, std::size_t begin, std::size_t end) {
  Run best;
  const std::size_t longest = std::min((end - begin) / 2, kLongestPeriod);
  for (std::size_t period = kLeastPeriod; period <= longest; ++period) {
    std::size_t start = begin;
    for (std::size_t i = begin; i + period <= end; ++i) {
      if (i + period < end && tokens[i] == tokens[i + period]) {
        continue;
      }
      const Run run{start, period, i - start + period};
      if (run.length >= 2 * period && run.saved() > best.saved()) {
        best = run;
      }
      start = i + 1;
    }
  }
  return best;
}

void find(std::span<const std::uint32_t> tokens, std::size_t begin, std::size_t end,
          const std::function<std::size_t(std::size_t)>& cost, std::vector<Repeat>& found) {
  const Run run = find_longest(tokens, begin, end);
  if (run.saved() < kLeastSaved) {
    return;
  }
  Repeat repeat{run.begin, run.period, run.length / run.period};
  const std::size_t last = run.begin + run.length % run.period;
  for (std::size_t at = run.begin; at <= last; ++at) {
    if (cost(at) < cost(repeat.begin)) {
      repeat.begin = at;
    }
  }
  find(tokens, begin, repeat.begin, cost, found);
  found.push_back(repeat);
  find(tokens, repeat.end(), end, cost, found);
}

}  // namespace

std::vector<Repeat> find_repeats(std::span<const std::uint32_t> tokens, std::size_t begin,
                                 std::size_t end,
                                 const std::function<std::size_t(std::size_t)>& cost) {
  std::vector<Repeat> found;
  find(tokens, begin, end, cost, found);
  return found;
}

}  // namespace understudy::emitter
