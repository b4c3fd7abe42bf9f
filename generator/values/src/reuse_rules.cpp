#include "reuse_rules.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "generator/flow/model_names.h"
#include "value_kinds.h"

namespace understudy::generator {
namespace {

using et_schema::Repeat;
using et_schema::ReuseBin;

/// Most draws of zipf_reuse; more draws would have the same proportions.
constexpr std::int64_t kMostSampledDraws = std::int64_t{1} << 20U;
constexpr std::int64_t kMostBins = 32;
/// Numbers that occur less often than this are rare: scaling changes how many there are. For other
/// numbers, it changes how often each occurs.
constexpr std::int64_t kRareTimes = 4;

std::int64_t numbers_in(const ReuseBin& bin) {
  std::int64_t numbers = 0;
  for (const Repeat& repeat : bin.repeats) {
    numbers += repeat.numbers;
  }
  return numbers;
}

/// Sorts by falling `times`, merges equal ones, and removes empty ones.
std::vector<Repeat> tidy(const std::vector<Repeat>& repeats) {
  std::map<std::int64_t, std::int64_t, std::greater<>> numbers_of;
  for (const Repeat& repeat : repeats) {
    if (repeat.times > 0 && repeat.numbers > 0) {
      numbers_of[repeat.times] += repeat.numbers;
    }
  }
  std::vector<Repeat> tidied;
  for (const auto& [times, numbers] : numbers_of) {
    tidied.push_back({times, numbers});
  }
  return tidied;
}

Reuse tidy(Reuse reuse) {
  for (ReuseBin& bin : reuse.bins) {
    bin.repeats = tidy(bin.repeats);
  }
  std::erase_if(reuse.bins, [](const ReuseBin& bin) { return bin.repeats.empty(); });
  return reuse;
}

/// Distributes `draws` draws over `numbers` numbers as evenly as possible.
void add_evenly(std::vector<Repeat>& repeats, std::int64_t numbers, std::int64_t draws) {
  if (numbers > 0) {
    repeats.push_back({draws / numbers + 1, draws % numbers});
    repeats.push_back({draws / numbers, numbers - draws % numbers});
  }
}

/// Appends the repeat scaled to `draws` draws of at most `most` numbers.
void add_scaled(std::vector<Repeat>& repeats, const Repeat& repeat, std::int64_t draws,
                std::int64_t most) {
  const std::int64_t numbers =
      repeat.times < kRareTimes ? (draws + repeat.times - 1) / repeat.times : repeat.numbers;
  add_evenly(repeats, std::min({numbers, draws, most}), draws);
}

/// Replaces draws of numbers in the repeat at `index` by new numbers that occur once each. Returns
/// the count of new numbers, at most `wanted`.
std::int64_t split(std::vector<Repeat>& repeats, std::size_t index, std::int64_t wanted) {
  const Repeat whole = repeats[index];
  const std::int64_t most_each = whole.times - 1;
  const std::int64_t each = std::clamp<std::int64_t>(wanted / whole.numbers, 1, most_each);
  const std::int64_t numbers = std::min(whole.numbers, wanted / each);
  repeats[index].numbers -= numbers;
  repeats.push_back({whole.times - each, numbers});
  repeats.push_back({1, numbers * each});
  return numbers * each;
}

void make_more(Reuse& reuse, std::int64_t wanted) {
  for (bool progress = true; wanted > 0 && progress;) {
    progress = false;
    for (ReuseBin& bin : reuse.bins) {
      std::int64_t room = bin.high - bin.low - numbers_in(bin);
      bin.repeats = tidy(bin.repeats);
      // Rare numbers are split first, so that frequent numbers stay frequent.
      for (std::size_t i = bin.repeats.size(); i-- > 0 && std::min(wanted, room) > 0;) {
        if (bin.repeats[i].times > 1) {
          const std::int64_t made = split(bin.repeats, i, std::min(wanted, room));
          wanted -= made;
          room -= made;
          progress = true;
        }
      }
    }
  }
}

/// Removes the rarest numbers, at most `excess`, and reduces `excess`. Returns the draws of the
/// removed numbers.
std::int64_t take_rarest(Reuse& reuse, std::int64_t& excess) {
  std::int64_t times = 0;
  for (const ReuseBin& bin : reuse.bins) {
    for (const Repeat& repeat : bin.repeats) {
      times = times == 0 ? repeat.times : std::min(times, repeat.times);
    }
  }
  std::int64_t draws = 0;
  for (ReuseBin& bin : reuse.bins) {
    for (Repeat& repeat : bin.repeats) {
      if (repeat.times == times) {
        const std::int64_t taken = std::min(excess, repeat.numbers);
        repeat.numbers -= taken;
        excess -= taken;
        draws += taken * times;
      }
    }
  }
  return draws;
}

/// Adds draws to the rarest numbers.
void give_to_rarest(Reuse& reuse, std::int64_t draws) {
  ReuseBin* rarest = nullptr;
  for (ReuseBin& bin : reuse.bins) {
    if (rarest == nullptr || bin.repeats.back().times < rarest->repeats.back().times ||
        (bin.repeats.back().times == rarest->repeats.back().times &&
         bin.repeats.back().numbers > rarest->repeats.back().numbers)) {
      rarest = &bin;
    }
  }
  const Repeat last = rarest->repeats.back();
  rarest->repeats.pop_back();
  add_evenly(rarest->repeats, last.numbers, last.times * last.numbers + draws);
}

void make_fewer(Reuse& reuse, std::int64_t excess) {
  while (excess > 0) {
    const std::int64_t draws = take_rarest(reuse, excess);
    reuse = tidy(std::move(reuse));
    give_to_rarest(reuse, draws);
    reuse = tidy(std::move(reuse));
  }
}

/// Counts how often each number occurs, in bins of about equally many draws.
Reuse count_draws(std::vector<std::int64_t> numbers) {
  std::ranges::sort(numbers);
  Reuse reuse;
  const auto draws = static_cast<std::int64_t>(numbers.size());
  const std::int64_t each = (draws + kMostBins - 1) / kMostBins;
  std::int64_t in_bin = 0;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t next = i;
    while (next < numbers.size() && numbers[next] == numbers[i]) {
      ++next;
    }
    if (reuse.bins.empty() || in_bin >= each) {
      reuse.bins.push_back({numbers[i], numbers[i] + 1, {}});
      in_bin = 0;
    }
    const auto times = static_cast<std::int64_t>(next - i);
    reuse.bins.back().high = numbers[i] + 1;
    reuse.bins.back().repeats.push_back({times, 1});
    in_bin += times;
    i = next;
  }
  return tidy(std::move(reuse));
}

/// Names as in Hörmann and Derflinger: h is the weight, H its integral.
class ZipfSampler {
 public:
  ZipfSampler(std::int64_t count, double alpha, std::uint64_t seed)
      : alpha_(alpha), last_(static_cast<double>(count)), state_(seed) {
    h_first_ = H(1.5) - 1;
    h_last_ = H(last_ + 0.5);
    squeeze_ = 2 - inverse(H(2.5) - h(2));
  }

  /// Returns a number from 1 to count.
  double draw() {
    while (true) {
      const double u = h_last_ + uniform() * (h_first_ - h_last_);
      const double x = inverse(u);
      const double k = std::clamp(std::floor(x + 0.5), 1.0, last_);
      if (k - x <= squeeze_ || u >= H(k + 0.5) - h(k)) {
        return k;
      }
    }
  }

 private:
  [[nodiscard]] double h(double x) const { return std::pow(x, -alpha_); }
  [[nodiscard]] double H(double x) const {
    return alpha_ == 1 ? std::log(x) : std::pow(x, 1 - alpha_) / (1 - alpha_);
  }
  [[nodiscard]] double inverse(double y) const {
    return alpha_ == 1 ? std::exp(y) : std::pow(y * (1 - alpha_), 1 / (1 - alpha_));
  }
  /// SplitMix64.
  double uniform() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return static_cast<double>((z ^ (z >> 31U)) >> 11U) * 0x1.0p-53;
  }

  double alpha_;
  double last_;
  std::uint64_t state_;
  double h_first_ = 0;
  double h_last_ = 0;
  double squeeze_ = 0;
};

/// Returns repeats with the same number of draws but at most `width` numbers.
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

Reuse with_draws(const Reuse& reuse, std::int64_t count) {
  const std::int64_t draws = et_schema::draw_count(reuse);
  if (count % reuse.run == 0 && count / reuse.run % draws == 0) {
    return reuse;
  }
  Reuse scaled = reuse;
  scaled.run = 1;
  std::int64_t seen = 0;
  std::int64_t given = 0;
  for (ReuseBin& bin : scaled.bins) {
    const std::vector<Repeat> repeats = std::exchange(bin.repeats, {});
    std::int64_t room = bin.high - bin.low;
    for (const Repeat& repeat : repeats) {
      seen += repeat.times * repeat.numbers;
      const double share = static_cast<double>(seen) / static_cast<double>(draws);
      const std::int64_t until =
          seen == draws ? count : static_cast<std::int64_t>(share * static_cast<double>(count));
      if (until > given && room > 0) {
        add_scaled(bin.repeats, repeat, until - given, room);
        given = until;
        room = bin.high - bin.low - numbers_in(bin);
      }
    }
  }
  if (given < count) {  // the last bin was full: its last numbers get the remaining draws
    scaled = tidy(std::move(scaled));
    give_to_rarest(scaled, count - given);
  }
  return tidy(std::move(scaled));
}

std::optional<Reuse> with_distinct(const Reuse& reuse, std::int64_t distinct) {
  const std::int64_t now = et_schema::distinct_count(reuse);
  if (distinct < 1 || distinct > et_schema::draw_count(reuse)) {
    return std::nullopt;
  }
  Reuse fitted = reuse;
  if (now < distinct) {
    make_more(fitted, distinct - now);
  } else if (now > distinct) {
    make_fewer(fitted, now - distinct);
  }
  fitted = tidy(std::move(fitted));
  return et_schema::distinct_count(fitted) == distinct ? std::optional(std::move(fitted))
                                                       : std::nullopt;
}

Reuse zipf_reuse(std::int64_t low, std::int64_t high, double alpha, std::int64_t draws,
                 std::uint64_t seed) {
  ZipfSampler sampler(high - low, alpha, seed);
  std::vector<std::int64_t> numbers(
      static_cast<std::size_t>(std::clamp<std::int64_t>(draws, 1, kMostSampledDraws)));
  std::ranges::generate(numbers, [&] {
    return std::min(low + static_cast<std::int64_t>(sampler.draw()) - 1, high - 1);
  });
  return count_draws(std::move(numbers));
}

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
    // An exact number of distinct values needs every draw to be used.
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
