#include "values_reuse.h"

#include <algorithm>
#include <iterator>

#include "values_bits.h"

namespace understudy::replayer {

ReuseDraws::ReuseDraws(const et_schema::Reuse& reuse, std::uint64_t key, std::int64_t numel)
    : reuse_(reuse),
      key_(key),
      runs_((numel + reuse.run - 1) / reuse.run),
      draws_(et_schema::draw_count(reuse)) {
  std::int64_t draw = 0;
  for (std::size_t bin = 0; bin < reuse.bins.size(); ++bin) {
    std::int64_t ordinal = 0;
    for (const et_schema::Repeat& repeat : reuse.bins[bin].repeats) {
      groups_.push_back({draw, repeat.times, ordinal, bin});
      draw += repeat.times * repeat.numbers;
      ordinal += repeat.numbers;
    }
  }
  if (reuse.sorted) {
    // As many as the tensor can show.
    const std::int64_t shown = std::min(draws_, std::max<std::int64_t>(runs_, 1));
    in_order_.reserve(static_cast<std::size_t>(shown));
    for (std::int64_t i = 0; i < shown; ++i) {
      in_order_.push_back(number(scaled(i, draws_, shown)));
    }
    std::sort(in_order_.begin(), in_order_.end());
  }
}

std::int64_t ReuseDraws::at(std::int64_t element) const {
  const std::int64_t draw = draw_of(element / reuse_.run);
  return reuse_.sorted ? in_order_[static_cast<std::size_t>(draw)] : number(draw);
}

/// The list of draws fills the tensor once or several times; where it does not fill it evenly,
/// draws are left out, or taken again, at equal distances.
std::int64_t ReuseDraws::draw_of(std::int64_t run) const {
  if (reuse_.sorted) {
    const auto listed = static_cast<std::int64_t>(in_order_.size());
    return runs_ % listed == 0 ? run % listed : scaled(run, listed, runs_);
  }
  if (runs_ % draws_ == 0) {
    return permuted(run % draws_, draws_, key_);
  }
  return scaled(permuted(run, runs_, key_), draws_, runs_);
}

std::int64_t ReuseDraws::number(std::int64_t draw) const {
  const auto next =
      std::upper_bound(groups_.begin(), groups_.end(), draw,
                       [](std::int64_t d, const Group& g) { return d < g.first_draw; });
  const Group& group = *std::prev(next);
  const et_schema::ReuseBin& bin = reuse_.bins[group.bin];
  const std::int64_t ordinal = group.first_ordinal + (draw - group.first_draw) / group.times;
  // Frequent numbers lie anywhere in their bin.
  return bin.low + permuted(ordinal, bin.high - bin.low, mix(key_ + (group.bin + 1) * kGolden));
}

}  // namespace understudy::replayer
