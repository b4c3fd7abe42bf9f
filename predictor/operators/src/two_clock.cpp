#include "predictor/operators/two_clock.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "et_schema/base/assert.h"

namespace understudy::predictor {
namespace {

/// ln of floor, fixed, compute share, memory share.
using Parameters = std::array<double, 4>;

constexpr double kLeastNs = 1e-3;
constexpr double kLossScale = 0.1;  // larger residuals count linearly
constexpr double kLeastShare = 1e-4;
constexpr double kMostShare = 20;  // caches exceed the memory bandwidth

TwoClock base_of(const Parameters& p) {
  return {std::exp(p[0]), std::exp(p[1]), std::exp(p[2]), std::exp(p[3])};
}

Parameters parameters_of(const TwoClock& base) {
  return {std::log(std::max(base.floor_ns, kLeastNs)), std::log(std::max(base.fixed_ns, kLeastNs)),
          std::log(base.compute_share), std::log(base.memory_share)};
}

struct Problem {
  std::span<const BaseSample> samples;
  std::optional<Parameters> around;  ///< few samples do not determine the shares: pull them there

  [[nodiscard]] double loss(const Parameters& p) const {
    const TwoClock base = base_of(p);
    if (base.compute_share < kLeastShare || base.compute_share > kMostShare ||
        base.memory_share < kLeastShare || base.memory_share > kMostShare) {
      return std::numeric_limits<double>::infinity();
    }
    double sum = 0;
    for (const BaseSample& sample : samples) {
      const double residual =
          sample.ln_ns - std::log(base_ns(base, sample.compute_ns, sample.memory_ns));
      const double scaled = residual / kLossScale;
      sum += std::sqrt(1 + scaled * scaled) - 1;
    }
    constexpr double kPull = 0.02;
    constexpr double kTie = 0.5;  // nor do they tell arithmetic from memory
    Parameters off{};
    for (std::size_t i = 0; around && i < p.size(); ++i) {
      off[i] = p[i] - (*around)[i];
      sum += kPull * off[i] * off[i];
    }
    return sum + kTie * (off[2] - off[3]) * (off[2] - off[3]);
  }
};

struct Vertex {
  Parameters at;
  double loss = 0;
};

Parameters between(const Parameters& from, const Parameters& to, double share) {
  Parameters p{};
  for (std::size_t i = 0; i < p.size(); ++i) {
    p[i] = from[i] + share * (to[i] - from[i]);
  }
  return p;
}

/// Nelder-Mead simplex: needs no derivative, which does not exist at the floor's kink.
Vertex minimise(const Problem& problem, const Parameters& start) {
  constexpr int kSteps = 220;
  constexpr double kEdge = 0.4;
  constexpr double kEnough = 1e-7;
  std::array<Vertex, 5> simplex{};
  for (std::size_t i = 0; i < simplex.size(); ++i) {
    simplex[i].at = start;
    if (i > 0) {
      simplex[i].at[i - 1] -= kEdge;
    }
    simplex[i].loss = problem.loss(simplex[i].at);
  }
  for (int step = 0; step < kSteps; ++step) {
    std::ranges::sort(simplex, {}, &Vertex::loss);
    Vertex& worst = simplex.back();
    if (worst.loss - simplex[0].loss <= kEnough * (1 + simplex[0].loss)) {
      break;
    }
    Parameters centre{};
    for (std::size_t v = 0; v + 1 < simplex.size(); ++v) {
      for (std::size_t i = 0; i < centre.size(); ++i) {
        centre[i] += simplex[v].at[i] / 4;
      }
    }
    const auto tried = [&](double share) {
      const Parameters at = between(worst.at, centre, share);
      return Vertex{at, problem.loss(at)};
    };
    const Vertex reflected = tried(2);
    if (reflected.loss < simplex[0].loss) {
      const Vertex expanded = tried(3);
      worst = expanded.loss < reflected.loss ? expanded : reflected;
    } else if (reflected.loss < simplex[3].loss) {
      worst = reflected;
    } else if (const Vertex contracted = tried(0.5); contracted.loss < worst.loss) {
      worst = contracted;
    } else {
      for (std::size_t v = 1; v < simplex.size(); ++v) {
        simplex[v].at = between(simplex[v].at, simplex[0].at, 0.5);
        simplex[v].loss = problem.loss(simplex[v].at);
      }
    }
  }
  return *std::ranges::min_element(simplex, {}, &Vertex::loss);
}

/// Returns evenly spaced samples in order of time. All durations keep their weight, and large
/// families fit fast.
std::vector<BaseSample> thinned(std::span<const BaseSample> samples) {
  constexpr std::size_t kMost = 400;
  std::vector<BaseSample> sorted(samples.begin(), samples.end());
  std::ranges::stable_sort(sorted, {}, &BaseSample::ln_ns);
  if (sorted.size() <= kMost) {
    return sorted;
  }
  std::vector<BaseSample> kept;
  for (std::size_t i = 0; i < kMost; ++i) {
    kept.push_back(sorted[i * (sorted.size() - 1) / (kMost - 1)]);
  }
  return kept;
}

/// Returns true if there are fewer different amounts of work than parameters.
bool are_fewer_than_parameters(std::span<const BaseSample> samples) {
  std::set<std::pair<double, double>> works;
  for (const BaseSample& sample : samples) {
    works.emplace(sample.compute_ns, sample.memory_ns);
  }
  return works.size() < Parameters().size();
}

/// Returns a base of one parameter: the factor from the usual shares to those that the samples of
/// most work reach: the others' times are rather of launches. Below a tenth, these are, too. What
/// is left of the shortest time is fixed.
TwoClock scaled_base(std::span<const BaseSample> samples) {
  constexpr double kLeastFactor = 0.1;
  const BaseSample& shortest = samples.front();
  const double launch_ns = std::min(kLaunchNs, std::exp(shortest.ln_ns));
  TwoClock base{launch_ns, launch_ns, 0.6, 0.7};
  const auto work_ns = [&](const BaseSample& sample) {
    return kernel_ns(base, sample.compute_ns, sample.memory_ns) - launch_ns;
  };
  double most_ns = 0;
  for (const BaseSample& sample : samples) {
    most_ns = std::max(most_ns, work_ns(sample));
  }
  std::vector<double> factors;
  for (const BaseSample& sample : samples) {
    if (2 * work_ns(sample) >= most_ns) {
      factors.push_back(work_ns(sample) / std::max(std::exp(sample.ln_ns) - launch_ns, kLeastNs));
    }
  }
  std::ranges::sort(factors);
  const double median = std::min(factors[factors.size() / 2], kMostShare);
  const double factor = median < kLeastFactor ? 1 : median;
  base.compute_share *= factor;
  base.memory_share *= factor;
  base.fixed_ns = std::max(std::exp(shortest.ln_ns) - work_ns(shortest), launch_ns);
  base.floor_ns = base.fixed_ns;
  return base;
}

}  // namespace

double kernel_ns(const TwoClock& base, double compute_ns, double memory_ns) {
  const double compute = compute_ns / base.compute_share;
  const double memory = memory_ns / base.memory_share;
  return base.fixed_ns + std::sqrt(compute * compute + memory * memory);
}

double base_ns(const TwoClock& base, double compute_ns, double memory_ns) {
  return std::max({base.floor_ns, kernel_ns(base, compute_ns, memory_ns), kLeastNs});
}

TwoClock fit_two_clock(std::span<const BaseSample> all) {
  UNDERSTUDY_ASSERT(!all.empty());
  constexpr std::size_t kFew = 30;
  const std::vector<BaseSample> samples = thinned(all);
  if (are_fewer_than_parameters(samples)) {
    return scaled_base(samples);
  }
  const double least = std::exp(samples.front().ln_ns);
  Problem problem{samples, {}};
  std::vector<TwoClock> starts = {{least, least / 2, 0.7, 0.8},
                                  {least, least / 10, 0.3, 0.5},
                                  {least / 2, least, 0.7, 0.3},
                                  {least, least, 0.1, 0.8}};
  if (all.size() < kFew) {
    TwoClock usual = scaled_base(samples);
    problem.around = parameters_of(usual);
    starts = {usual};
    usual.floor_ns = least;
    usual.fixed_ns = least / 2;
    starts.push_back(usual);
  }
  Vertex best{{}, std::numeric_limits<double>::infinity()};
  for (const TwoClock& start : starts) {
    const Vertex found = minimise(problem, parameters_of(start));
    if (found.loss < best.loss) {
      best = found;
    }
  }
  return base_of(best.at);
}

}  // namespace understudy::predictor
