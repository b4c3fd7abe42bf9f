#include "reuse_rules.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "reuse_fit.h"

namespace understudy::generator {
namespace {

using et_schema::Repeat;
using et_schema::Reuse;
using et_schema::ReuseBin;
using et_schema::ValueRule;
using et_schema::ValueRuleKind;

/// At most `width` numbers for the draws of these repeats.
std::vector<Repeat> squeezed(std::vector<Repeat> repeats, std::int64_t width) {
  std::int64_t numbers = 0;
  std::int64_t draws = 0;
  for (const Repeat& repeat : repeats) {
    numbers += repeat.numbers;
    draws += repeat.times * repeat.numbers;
  }
  if (numbers <= width) {
    return repeats;
  }
  const std::int64_t each = draws / width;
  const std::int64_t more = draws % width;
  return more > 0 ? std::vector<Repeat>{{each + 1, more}, {each, width - more}}
                  : std::vector<Repeat>{{each, width}};
}

Reuse clipped(const Reuse& reuse, std::int64_t low, std::int64_t high) {
  Reuse inside = reuse;
  inside.bins.clear();
  for (const ReuseBin& bin : reuse.bins) {
    ReuseBin part = bin;
    part.low = std::clamp(bin.low, low, high - 1);
    part.high = std::clamp(bin.high, part.low + 1, high);
    const bool overlaps = !inside.bins.empty() && part.low < inside.bins.back().high;
    if (overlaps) {
      ReuseBin& last = inside.bins.back();
      last.high = std::max(last.high, part.high);
      last.repeats.insert(last.repeats.end(), part.repeats.begin(), part.repeats.end());
    } else {
      inside.bins.push_back(std::move(part));
    }
  }
  for (ReuseBin& bin : inside.bins) {
    bin.repeats = squeezed(std::move(bin.repeats), bin.high - bin.low);
  }
  return inside;
}

bool lies_within(const Reuse& reuse, std::int64_t low, std::int64_t high) {
  return reuse.bins.front().low >= low && reuse.bins.back().high <= high;
}

}  // namespace

ValueRule reuse_rule(Reuse reuse, std::string why) {
  ValueRule rule;
  rule.kind = ValueRuleKind::kReuse;
  rule.low = reuse.bins.front().low;
  rule.high = reuse.bins.back().high;
  rule.reuse = std::move(reuse);
  rule.why = std::move(why);
  return rule;
}

ValueRule narrow_reuse(const ValueRule& reuse, const ValueRule& integers, std::int64_t count) {
  if (integers.high <= integers.low || count < 1) {
    return integers;
  }
  Reuse fitted = lies_within(reuse.reuse, integers.low, integers.high)
                     ? reuse.reuse
                     : clipped(reuse.reuse, integers.low, integers.high);
  const auto distinct = static_cast<std::int64_t>(std::max(reuse.a, integers.a));
  if (distinct > 0) {
    // So many numbers are there in all only where each draw is taken.
    std::optional<Reuse> exact = with_distinct(with_draws(fitted, count), distinct);
    if (!exact) {
      return integers;
    }
    fitted = *std::move(exact);
  }
  ValueRule narrowed = reuse_rule(std::move(fitted), reuse.why);
  narrowed.low = integers.low;
  narrowed.high = integers.high;
  narrowed.a = static_cast<double>(distinct);
  return narrowed;
}

ValueRule spread_indices(const ValueRule& integers, const IndexSpread& spread, std::int64_t count,
                         std::uint64_t seed) {
  if (spread.kind == IndexSpread::Kind::kUniform || integers.high <= integers.low || count < 1) {
    return integers;
  }
  if (spread.kind == IndexSpread::Kind::kZipf) {
    ValueRule zipf = reuse_rule(zipf_reuse(integers.low, integers.high, spread.alpha, count, seed),
                                integers.why);
    return narrow_reuse(zipf, integers, count);
  }
  if (integers.a > 1) {
    return integers;
  }
  ValueRule constant;
  constant.kind = ValueRuleKind::kConstant;
  constant.a = static_cast<double>(integers.low);
  constant.why = integers.why;
  return constant;
}

}  // namespace understudy::generator
