#include "reuse_rules.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "generator/flow/model_names.h"
#include "reuse_fit.h"
#include "value_kinds.h"

namespace understudy::generator {
namespace {

using et_schema::Repeat;
using et_schema::ReuseBin;

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
  const std::int64_t low = reuse.bins.front().low;
  const std::int64_t high = reuse.bins.back().high;
  return {ValueRule::ReusedIntegers{.low = low, .high = high, .reuse = std::move(reuse)},
          std::move(why)};
}

ValueRule narrow_reuse(const ValueRule& reuse, const ValueRule& integers, std::int64_t count) {
  const auto& reused = std::get<ValueRule::ReusedIntegers>(reuse.kind);
  const auto& range = std::get<ValueRule::Integers>(integers.kind);
  if (range.high <= range.low || count < 1) {
    return integers;
  }
  Reuse fitted = lies_within(reused.reuse, range.low, range.high)
                     ? reused.reuse
                     : clipped(reused.reuse, range.low, range.high);
  const std::int64_t distinct = std::max(reused.distinct, range.distinct);
  if (distinct > 0) {
    // So many numbers are there in all only where each draw is taken.
    std::optional<Reuse> exact = with_distinct(with_draws(fitted, count), distinct);
    if (!exact) {
      return integers;
    }
    fitted = *std::move(exact);
  }
  return {
      ValueRule::ReusedIntegers{
          .low = range.low, .high = range.high, .reuse = std::move(fitted), .distinct = distinct},
      reuse.why};
}

ValueRule spread_indices(const ValueRule& integers, const IndexSpread& spread, std::int64_t count,
                         std::uint64_t seed) {
  const auto& range = std::get<ValueRule::Integers>(integers.kind);
  if (spread.kind == IndexSpread::Kind::kUniform || range.high <= range.low || count < 1) {
    return integers;
  }
  if (spread.kind == IndexSpread::Kind::kZipf) {
    const ValueRule zipf =
        reuse_rule(zipf_reuse(range.low, range.high, spread.alpha, count, seed), integers.why);
    return narrow_reuse(zipf, integers, count);
  }
  return range.distinct > 1 ? integers : constant(static_cast<double>(range.low), integers.why);
}

}  // namespace understudy::generator
