#include "et_schema/model/reuse.h"

#include <fmt/format.h>

#include "et_schema/base/enum_names.h"

namespace understudy::et_schema {
namespace {

// In the order of enum SparseLayout.
constexpr EnumNames<SparseLayout::kCsc> kLayoutNames("coo", "csr", "csc");

constexpr std::int64_t kMostDraws = std::int64_t{1} << 62U;

/// Returns `draws` + Σ times × numbers, at most kMostDraws.
std::int64_t bounded_draws(const ReuseBin& bin, std::int64_t draws) {
  for (const Repeat& repeat : bin.repeats) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(repeat.times, repeat.numbers, &product) ||
        __builtin_add_overflow(draws, product, &draws) || draws >= kMostDraws) {
      return kMostDraws;
    }
  }
  return draws;
}

std::optional<ReuseProblem> problem_of_bin(const ReuseBin& bin) {
  std::int64_t width = 0;
  if (bin.high <= bin.low || __builtin_sub_overflow(bin.high, bin.low, &width)) {
    return ReuseProblem{"reuse", "bins of a range [low, high) that is not empty",
                        fmt::format("[{},{})", bin.low, bin.high)};
  }
  std::int64_t numbers = 0;
  for (const Repeat& repeat : bin.repeats) {
    if (repeat.times < 1 || repeat.numbers < 1) {
      return ReuseProblem{"reuse", "numbers that occur at least once",
                          fmt::format("{} numbers {} times", repeat.numbers, repeat.times)};
    }
    const bool too_many = __builtin_add_overflow(numbers, repeat.numbers, &numbers);
    if (too_many || numbers > width) {
      return ReuseProblem{"reuse",
                          fmt::format("at most {} numbers in [{},{})", width, bin.low, bin.high),
                          too_many ? "more" : fmt::format("{}", numbers)};
    }
  }
  return std::nullopt;
}

}  // namespace

std::int64_t draw_count(const Reuse& reuse) {
  std::int64_t count = 0;
  for (const ReuseBin& bin : reuse.bins) {
    for (const Repeat& repeat : bin.repeats) {
      count += repeat.times * repeat.numbers;
    }
  }
  return count;
}

std::int64_t distinct_count(const Reuse& reuse) {
  std::int64_t count = 0;
  for (const ReuseBin& bin : reuse.bins) {
    for (const Repeat& repeat : bin.repeats) {
      count += repeat.numbers;
    }
  }
  return count;
}

std::optional<ReuseProblem> find_problem(const Reuse& reuse) {
  if (reuse.run < 1) {
    return ReuseProblem{"run", "at least 1", fmt::format("{}", reuse.run)};
  }
  std::int64_t draws = 0;
  const ReuseBin* before = nullptr;
  for (const ReuseBin& bin : reuse.bins) {
    if (const auto problem = problem_of_bin(bin)) {
      return problem;
    }
    if (before != nullptr && bin.low < before->high) {
      return ReuseProblem{"reuse", fmt::format("bins that ascend, from {} on", before->high),
                          fmt::format("[{},{})", bin.low, bin.high)};
    }
    draws = bounded_draws(bin, draws);
    before = &bin;
  }
  if (draws == 0) {
    return ReuseProblem{"reuse", "at least one draw", "none"};
  }
  return draws >= kMostDraws ? std::optional(ReuseProblem{"reuse", "fewer than 2^62 draws", "more"})
                             : std::nullopt;
}

std::string_view to_string(SparseLayout layout) {
  return kLayoutNames[layout];
}

std::optional<SparseLayout> sparse_layout_from_string(std::string_view text) {
  return kLayoutNames.find(text);
}

}  // namespace understudy::et_schema
