#include "predictor/operators/call_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "et_schema/base/assert.h"
#include "et_schema/base/enum_names.h"
#include "et_schema/base/map_values.h"

namespace understudy::predictor {
namespace {

constexpr et_schema::EnumNames<Candidate::kOtherCards> kNames("two_clock", "two_clock+trees",
                                                              "other cards");

/// Adapts the trees to the rows: few cannot fill 300 trees of 64 leaves, many can fill larger ones.
TreeOptions fitting(TreeOptions options, std::size_t rows) {
  constexpr std::size_t kMany = 3000;
  if (rows >= kMany) {
    options.depth += 1;
    options.rate *= 0.85;
    options.rows_in_leaf /= 2;
  }
  constexpr std::size_t kFew = 300;
  constexpr std::size_t kVeryFew = 60;
  if (rows < kFew) {
    options.depth = std::min(options.depth, 4);
    options.rows_in_leaf = std::min(options.rows_in_leaf, 4.0);
    options.trees = std::min(options.trees, 200);
  }
  if (rows < kVeryFew) {
    options.depth = std::min(options.depth, 2);
    options.trees = std::min(options.trees, 60);
  }
  return options;
}

double base_ln(const TwoClock& base, const Point& point) {
  return std::log(base_ns(base, point.kernels.compute_ns, point.kernels.memory_ns));
}

/// Returns the features for trees: with the operator's code.
Features tree_features(const Point& point, const OperatorCodes& codes) {
  Features x = point.x;
  x[kOperatorFeature] = et_schema::value_or(codes, point.op, 0);
  return x;
}

/// Computes codes from the base's residuals, shrunk for operators with few rows.
OperatorCodes codes_of(const Samples& samples, const std::vector<double>& residuals) {
  constexpr double kPrior = 5;  // pseudo-rows that shrink an operator's code to 0
  std::map<std::string, std::pair<double, double>> sums;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    auto& [sum, count] = sums[samples[i]->point.op];
    sum += residuals[i];
    count += 1;
  }
  OperatorCodes codes;
  for (const auto& [op, sum] : sums) {
    codes[op] = static_cast<float>(sum.first / (sum.second + kPrior));
  }
  return codes;
}

TwoClock fit_base(const Samples& samples) {
  std::vector<BaseSample> rows;
  rows.reserve(samples.size());
  for (const Sample* sample : samples) {
    const KernelLoad& kernels = sample->point.kernels;
    rows.push_back({kernels.compute_ns, kernels.memory_ns, sample->ln_ns});
  }
  return fit_two_clock(rows);
}

/// Adds trees fitted to the model's residuals.
void add_trees(const Samples& samples, const TreeOptions& options, CallModel& model) {
  std::vector<double> residuals;
  for (const Sample* sample : samples) {
    residuals.push_back(sample->ln_ns - model.ln_ns(*sample));
  }
  model.codes = codes_of(samples, residuals);
  std::vector<float> rows;
  rows.reserve(samples.size() * kFeatures);
  for (const Sample* sample : samples) {
    const Features x = tree_features(sample->point, model.codes);
    rows.insert(rows.end(), x.begin(), x.end());
  }
  const std::vector<float> target(residuals.begin(), residuals.end());
  model.trees = grow_trees(rows, kFeatures, target, fitting(options, samples.size()));
}

double corrected(const TimeShares& correction, const Leaned& leaned) {
  return std::inner_product(correction.begin(), correction.end(), leaned.shares.begin(),
                            leaned.ln_ns);
}

/// Returns the most likely correction, if the four factors (in ln) are normal with a deviation of
/// 0.2 around 0, and what calls miss with one of 0.4: ridge regression, by coordinate descent.
TimeShares likely_correction(const Samples& samples, const Sample* left_out) {
  constexpr double kRidge = 0.4 * 0.4 / (0.2 * 0.2);
  constexpr int kSweeps = 30;
  TimeShares correction = {};
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t part = 0; part < kTimeShares; ++part) {
      double products = 0;
      double squares = kRidge;
      for (const Sample* sample : samples) {
        if (sample == left_out) {
          continue;
        }
        const double share = sample->leaned->shares[part];
        const double missed = sample->ln_ns - corrected(correction, *sample->leaned);
        products += share * (missed + share * correction[part]);
        squares += share * share;
      }
      correction[part] = products / squares;
    }
  }
  return correction;
}

/// Returns the correction if it predicts calls that it was not fitted to better than none does, by
/// at least the standard error of that; otherwise none. Few calls cannot make it worse.
TimeShares safe_correction(const Samples& samples) {
  double sum = 0;
  double squares = 0;
  for (const Sample* sample : samples) {
    const TimeShares others = likely_correction(samples, sample);
    const double gain = std::abs(sample->ln_ns - sample->leaned->ln_ns) -
                        std::abs(sample->ln_ns - corrected(others, *sample->leaned));
    sum += gain;
    squares += gain * gain;
  }
  const auto n = static_cast<double>(samples.size());
  const double error = std::sqrt(std::max(squares - sum * sum / n, 0.0));
  return n > 1 && sum > error ? likely_correction(samples, nullptr) : TimeShares();
}

}  // namespace

std::string_view to_string(Candidate candidate) {
  return kNames[candidate];
}

std::optional<Candidate> candidate_from_string(std::string_view name) {
  return kNames.find(name);
}

double CallModel::ln_ns(const Point& point, const Leaned* leaned) const {
  if (kind == Candidate::kOtherCards) {
    UNDERSTUDY_ASSERT(leaned != nullptr);
    return corrected(correction, *leaned);
  }
  const double known = base_ln(base, point);
  return trees.size() == 0 ? known : known + trees(tree_features(point, codes));
}

CallModel fit_model(Candidate candidate, const Samples& samples, const TreeOptions& options) {
  UNDERSTUDY_ASSERT(!samples.empty());
  if (candidate == Candidate::kOtherCards) {
    return {.kind = candidate, .correction = safe_correction(samples)};
  }
  CallModel model{.kind = candidate, .base = fit_base(samples)};
  if (candidate == Candidate::kTrees) {
    add_trees(samples, options, model);
  }
  return model;
}

}  // namespace understudy::predictor
