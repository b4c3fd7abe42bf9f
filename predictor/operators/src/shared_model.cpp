#include <algorithm>
#include <cmath>
#include <vector>

#include "et_schema/base/assert.h"
#include "models.h"

namespace understudy::predictor {
namespace {

/// Fits a card's own base. Shares that its samples do not determine stay near usual values.
TwoClock pulled_base(const Samples& own) {
  constexpr double kPull = 8;
  constexpr double kUsualCompute = 0.6;
  constexpr double kUsualMemory = 0.7;
  const std::vector<BaseSample> rows = base_samples(own);
  TwoClock around = fit_two_clock(rows);
  around.compute_share = kUsualCompute;
  around.memory_share = kUsualMemory;
  return fit_two_clock(rows, &around, kPull);
}

struct CardBase {
  TwoClock base;
  bool is_narrow = false;
};
using Parameter = double TwoClock::*;

std::vector<double> values_of(const std::vector<CardBase>& cards, Parameter parameter) {
  std::vector<double> values;
  for (const CardBase& card : cards) {
    values.push_back(card.base.*parameter);
  }
  std::ranges::sort(values);
  return values;
}

/// Returns the (lower) median, because hosts are more often slow than fast.
double low_median(const std::vector<CardBase>& cards, Parameter parameter) {
  const std::vector<double> values = values_of(cards, parameter);
  return values[(values.size() - 1) / 2];
}

/// Returns the geometric mean of the cards of one kind (narrow or wide) and of `prior` additional
/// cards that have the median of all cards.
double share_of(const std::vector<CardBase>& cards, Parameter parameter, bool is_narrow,
                double prior) {
  const std::vector<double> values = values_of(cards, parameter);
  const std::size_t half = values.size() / 2;
  const double middle =
      values.size() % 2 == 1 ? values[half] : std::sqrt(values[half - 1] * values[half]);
  double sum = prior * std::log(middle);
  double count = prior;
  for (const CardBase& card : cards) {
    if (card.is_narrow == is_narrow) {
      sum += std::log(card.base.*parameter);
      count += 1;
    }
  }
  return std::exp(sum / count);
}

TwoClock base_for(const std::vector<CardBase>& cards, bool is_narrow) {
  // A board's power limits arithmetic but hardly memory.
  constexpr double kComputePrior = 0.5;
  constexpr double kMemoryPrior = 10;
  return {low_median(cards, &TwoClock::floor_ns), low_median(cards, &TwoClock::fixed_ns),
          share_of(cards, &TwoClock::compute_share, is_narrow, kComputePrior),
          share_of(cards, &TwoClock::memory_share, is_narrow, kMemoryPrior)};
}

/// Returns which share of a card's residuals the other cards' trees explain: the regression slope
/// with each card left out in turn.
double common_share(const Samples& samples, const std::vector<double>& residuals,
                    const std::vector<Trees>& forests, const OperatorCodes& codes) {
  constexpr double kOfOneCard = 0.5;
  double products = 0;
  double squares = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Features x = tree_features(samples[i]->point, codes);
    double told = 0;
    for (std::size_t card = 0; card < forests.size(); ++card) {
      told += card == samples[i]->card ? 0 : forests[card](x);
    }
    told /= std::max(static_cast<double>(forests.size()) - 1, 1.0);
    products += residuals[i] * told;
    squares += told * told;
  }
  return squares > 0 ? std::clamp(products / squares, 0.0, 1.0) : kOfOneCard;
}

}  // namespace

bool is_narrow(const Point& point) {
  constexpr double kNarrowest = 10e9;  // bytes per second and processor
  return point.x[kBandwidthFeature] < static_cast<float>(std::log(kNarrowest));
}

double base_ln(const TwoClock& base, const Point& point) {
  return std::log(base_ns(base, point.kernels.compute_ns, point.kernels.memory_ns));
}

const TwoClock& SharedModel::base_of(const Point& point) const {
  return is_narrow(point) ? narrow : wide;
}

double SharedModel::residual(const Point& point) const {
  return trees(tree_features(point, codes));
}

double SharedModel::ln_ns(const Point& point) const {
  return base_ln(base_of(point), point) + residual(point);
}

std::shared_ptr<const SharedModel> fit_shared(const Samples& samples, std::size_t cards,
                                              const TreeOptions& options) {
  UNDERSTUDY_ASSERT(!samples.empty() && cards > 0);
  std::vector<Samples> by_card(cards);
  for (const Sample* sample : samples) {
    by_card[sample->card].push_back(sample);
  }
  std::vector<CardBase> bases;
  for (const Samples& own : by_card) {
    UNDERSTUDY_ASSERT(!own.empty());
    bases.push_back({pulled_base(own), is_narrow(own.front()->point)});
  }
  auto shared = std::make_shared<SharedModel>();
  shared->wide = base_for(bases, false);
  shared->narrow = base_for(bases, true);
  const auto left_of = [&](const Samples& of) {
    std::vector<double> left;
    for (const Sample* sample : of) {
      left.push_back(sample->ln_ns - base_ln(bases[sample->card].base, sample->point));
    }
    return left;
  };
  const std::vector<double> residuals = left_of(samples);
  shared->codes = codes_of(samples, residuals);
  TreeOptions of_one = options;
  of_one.trees = std::max(options.trees / 3, 1);
  of_one.rate = 0.12;
  of_one.depth = 4;
  std::vector<Trees> forests;
  for (const Samples& own : by_card) {
    forests.push_back(grow(own, left_of(own), shared->codes, of_one));
  }
  // Half the weight is for trees of all cards together, half for the mean of each card's own trees,
  // in which a single card's peculiarities count less.
  const double common = common_share(samples, residuals, forests, shared->codes);
  shared->trees.add(grow(samples, residuals, shared->codes, options), common / 2);
  for (const Trees& forest : forests) {
    shared->trees.add(forest, common / 2 / static_cast<double>(cards));
  }
  return shared;
}

}  // namespace understudy::predictor
