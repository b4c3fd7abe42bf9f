#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <stdexcept>

#include "predictor/calls/known_cards.h"
#include "predictor/operators/fitted_model.h"
#include "synthetic.h"

namespace understudy::predictor {
namespace {

std::vector<Sample> samples_of(const std::vector<MeasuredCall>& calls, const Card& on) {
  std::vector<Sample> samples;
  for (const MeasuredCall& call : calls) {
    samples.push_back(
        {point_of(call.call, on), std::log(call.time().median_ns), shape_hash(call.call)});
  }
  return samples;
}

Samples pointers(const std::vector<Sample>& samples) {
  Samples all;
  for (const Sample& sample : samples) {
    all.push_back(&sample);
  }
  return all;
}

TEST(TwoClock, FindsTheLawThatMadeTheSamples) {
  const TwoClock law{20000, 8000, 0.5, 0.8};
  std::vector<BaseSample> samples;
  for (double size = 1; size < 1e7; size *= 1.3) {
    samples.push_back({size, 2000, std::log(base_ns(law, size, 2000))});
    samples.push_back({100, size, std::log(base_ns(law, 100, size))});
  }
  const TwoClock found = fit_two_clock(samples);
  EXPECT_NEAR(found.floor_ns, law.floor_ns, 0.01 * law.floor_ns);
  EXPECT_NEAR(found.compute_share, law.compute_share, 0.01);
  EXPECT_NEAR(found.memory_share, law.memory_share, 0.02);
  EXPECT_NEAR(found.fixed_ns, law.fixed_ns, 0.1 * law.fixed_ns);
}

TEST(TwoClock, OneSampleLeavesSharesNearUsualOnes) {
  const std::vector<BaseSample> one = {{10, 10, std::log(30000.0)}};
  const TwoClock found = fit_two_clock(one);
  EXPECT_NEAR(base_ns(found, 10, 10), 30000, 300);
  EXPECT_GT(found.compute_share, 0.2);
  EXPECT_LT(found.memory_share, 2);
}

TEST(Trees, NodesInAnyOrderButTheirOwnAreRefused) {
  using Features = std::vector<std::int16_t>;
  const std::vector<float> three = {0.5F, 1, 2};
  const Trees tree(Features{0, -1, -1}, three, 1);
  EXPECT_EQ(tree(std::vector<float>{0.0F}), 1);
  EXPECT_EQ(tree(std::vector<float>{0.5F}), 2);
  EXPECT_THROW(Trees(Features{0, -1}, std::vector<float>{0.5F, 1}, 1), std::invalid_argument);
  EXPECT_THROW(Trees(Features{3, -1, -1}, three, 1), std::invalid_argument);
  EXPECT_THROW(Trees(Features{0, -1}, three, 1), std::invalid_argument);
  EXPECT_EQ(Trees(Features{-1, -1}, std::vector<float>{1, 2}, 1)(std::vector<float>{0}), 3);
}

TEST(Trees, GrowToWhatTheyAreShown) {
  std::vector<float> rows;
  std::vector<float> target;
  for (int i = 0; i < 400; ++i) {
    rows.push_back(static_cast<float>(i % 20));
    rows.push_back(7);  // never changes
    target.push_back(i % 20 < 10 ? -1.0F : 1.0F);
  }
  const Trees trees = grow_trees(rows, 2, target, {});
  EXPECT_NEAR(trees(std::vector<float>{3, 7}), -1, 0.02);
  EXPECT_NEAR(trees(std::vector<float>{15, 7}), 1, 0.02);
  EXPECT_EQ(trees, grow_trees(rows, 2, target, {})) << "the same each time";
}

TEST(Trees, PartRowsThatDifferByLittle) {
  const auto at = [](int i) { return 6.00003F + static_cast<float>(i) * 1.3e-5F; };
  std::vector<float> rows;
  std::vector<float> target;
  for (int i = 0; i < 400; ++i) {
    rows.push_back(at(i % 20));
    target.push_back(i % 20 < 10 ? -1.0F : 1.0F);
  }
  const Trees trees = grow_trees(rows, 1, target, {});
  EXPECT_NEAR(trees(std::vector<float>{at(9)}), -1, 0.02);
  EXPECT_NEAR(trees(std::vector<float>{at(10)}), 1, 0.02);
}

TEST(FitBest, TreesFindWhatTheBaseDoesNotHold) {
  const Card on = synthetic::card("A");
  const auto samples = samples_of(synthetic::elementwise(on, 600), on);
  const FittedModel fitted = fit_best(pointers(samples), synthetic::quick_fit());
  EXPECT_EQ(fitted.model.kind, Candidate::kTrees);
  EXPECT_LT(fitted.errors.mean, 0.02);
  EXPECT_GT(fitted.width_beyond, 0);
  EXPECT_GE(fitted.width_beyond, fitted.width);
}

TEST(FitBest, HoldsNineOfTenOfWhatItHasNotSeen) {
  const Card on = synthetic::card("A");
  auto calls = synthetic::elementwise(on, 1500);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i].timed_call->median_ns *= 1 + 0.04 * std::sin(static_cast<double>(i * i));
  }
  const auto samples = samples_of(calls, on);
  const std::vector<Sample> known(samples.begin(), samples.begin() + 1000);
  const FittedModel fitted = fit_best(pointers(known), synthetic::quick_fit());
  std::size_t within = 0;
  for (std::size_t i = 1000; i < samples.size(); ++i) {
    const double miss = std::abs(fitted.model.ln_ns(samples[i].point) - samples[i].ln_ns);
    within += miss <= fitted.width ? 1U : 0U;
  }
  EXPECT_GE(within, 425U);
  EXPECT_LE(within, 490U);
}

TEST(FitBest, FewRowsAndOneRow) {
  const Card on = synthetic::card("A");
  const auto samples = samples_of(synthetic::elementwise(on, 6), on);
  const FittedModel few = fit_best(pointers(samples), synthetic::quick_fit());
  EXPECT_EQ(few.rows, 6U);
  const FittedModel one = fit_best({&samples[0]}, synthetic::quick_fit());
  EXPECT_EQ(one.errors.n, 0U);
  EXPECT_EQ(one.width, 1) << "a factor of e where nothing is known";
}

/// As a step has them: many equal small calls and a few sizes of large ones. Where the small ones
/// are left out nothing tells a floor, and what is predicted of them is the least of any call.
TEST(FitBest, WhatNoCallCanBeMakesNoInterval) {
  const Card on = synthetic::card("A");
  std::vector<MeasuredCall> calls;
  for (int i = 0; i < 80; ++i) {
    MeasuredCall& call = calls.emplace_back();
    const bool is_small = i < 50;
    call.call = synthetic::relu(is_small ? 1 : 20000 + 10000 * (i % 5), is_small ? 1 : 1024);
    const double bytes = 2 * stored_bytes(call.call.inputs[0]);
    call.timed_call.emplace().median_ns =
        is_small ? 2000 : bytes / (0.8 * on.bandwidth_bytes_per_s) * 1e9;
  }
  const auto samples = samples_of(calls, on);
  FitOptions options = synthetic::quick_fit();
  options.least_ns = 500;
  const FittedModel fitted = fit_best(pointers(samples), options);
  EXPECT_LE(fitted.width, std::log(2000.0 / 500) + 0.2);
  EXPECT_NEAR(fitted.model.ln_ns(samples[0].point), std::log(2000), 0.1);
}

TEST(FitBest, OneLargeCallTellsNoFloorOneSmallCallDoes) {
  const Card on = synthetic::card("A");
  const auto asked = [&](std::int64_t rows) { return point_of(synthetic::relu(rows, 1024), on); };
  MeasuredCall large;
  large.call = synthetic::relu(100000, 1024);
  large.timed_call.emplace().median_ns = synthetic::elementwise_ns(large.call, on);
  MeasuredCall small = large;
  small.call = synthetic::relu(1, 1024);
  small.timed_call.emplace().median_ns = synthetic::elementwise_ns(small.call, on);
  const auto of_large = samples_of({large}, on);
  const FittedModel by_large = fit_best({&of_large[0]}, synthetic::quick_fit());
  EXPECT_NEAR(by_large.model.ln_ns(asked(100000)), std::log(large.time().median_ns), 0.1);
  EXPECT_LT(by_large.model.ln_ns(asked(1)), std::log(large.time().median_ns / 20));
  const auto of_small = samples_of({small}, on);
  const FittedModel by_small = fit_best({&of_small[0]}, synthetic::quick_fit());
  EXPECT_NEAR(by_small.model.ln_ns(asked(1)), std::log(small.time().median_ns), 0.1);
  EXPECT_NEAR(by_small.model.ln_ns(asked(2)), std::log(small.time().median_ns), 0.1);
}

TEST(Range, ExcludesWhatIsAFifthOutside) {
  const Card on = synthetic::card("A");
  const auto samples = samples_of(synthetic::elementwise(on, 200), on);
  const Range range = Range::of(pointers(samples));
  EXPECT_FALSE(range.excludes(samples[7].point));
  EXPECT_TRUE(range.excludes(point_of(synthetic::relu(1 << 20, 1 << 12), on)));
  EXPECT_TRUE(range.excludes(point_of(synthetic::relu(1, 1), on)));
}

/// Calls of which other cards say 20 µs to 2 ms; `factor` tells ln of the truth above that.
std::vector<Sample> leaned_samples(std::size_t count, const std::function<double()>& factor) {
  const Card on = synthetic::card("A");
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < count; ++i) {
    Sample& sample = samples.emplace_back();
    sample.point = point_of(synthetic::relu(1 + static_cast<std::int64_t>(i), 512), on);
    const double part = static_cast<double>(i) / static_cast<double>(count);
    sample.leaned = Leaned{.ln_ns = std::log(20000) + part * std::log(100.0),
                           .shares = {1 - part, 0, part, 0},
                           .width = 0.3};
    sample.ln_ns = sample.leaned->ln_ns + factor();
  }
  return samples;
}

double mean_missed(const std::vector<Sample>& samples, const CallModel& model) {
  double sum = 0;
  for (const Sample& sample : samples) {
    sum += std::abs(sample.ln_ns - model.ln_ns(sample));
  }
  return sum / static_cast<double>(samples.size());
}

TEST(OtherCards, AreCorrectedByTwentyCallsOfTheCard) {
  const auto own = leaned_samples(20, [] { return std::log(1.5); });
  const CallModel model = fit_model(Candidate::kOtherCards, pointers(own));
  EXPECT_LT(mean_missed(leaned_samples(300, [] { return std::log(1.5); }), model), 0.15)
      << "of 0.41";
}

TEST(OtherCards, TwentyCallsMakeThemNoWorseOnAverage) {
  std::mt19937 engine(1);
  for (const double bias : {0.0, 0.1, 0.3}) {
    std::normal_distribution<double> noise(bias, 0.3);
    const auto asked = leaned_samples(2000, [&] { return noise(engine); });
    const double with_none = mean_missed(asked, {.kind = Candidate::kOtherCards});
    double with_own = 0;
    constexpr int kDraws = 50;
    for (int draw = 0; draw < kDraws; ++draw) {
      const auto own = leaned_samples(20, [&] { return noise(engine); });
      with_own += mean_missed(asked, fit_model(Candidate::kOtherCards, pointers(own))) / kDraws;
    }
    EXPECT_LE(with_own, 1.01 * with_none) << bias;
  }
}

TEST(OtherCards, AreNearIfMemoryArithmeticAndGenerationAreAlike) {
  const auto octaves = [](const char* one, const char* other) {
    return octaves_between(*find_known_card(one), *find_known_card(other),
                           et_schema::DType::kBFloat16);
  };
  EXPECT_EQ(octaves("H200", "H200"), 0);
  EXPECT_NEAR(octaves("H100 80GB HBM3", "H200"), 0.494, 0.002) << "memory and cache";
  EXPECT_NEAR(octaves("H200", "B200"), 1.52, 0.01);
  EXPECT_LT(octaves("A100-SXM4-80GB", "H100 80GB HBM3"), octaves("A100-SXM4-80GB", "B200"));
  EXPECT_GT(octaves("A100-SXM4-80GB", "MI300X"), 1.5) << "another maker";
}

TEST(OtherCards, MemoryGoesByBandwidthAndTheRestByArithmetic) {
  const Card here = *find_known_card("H100 80GB HBM3");
  const Card there = *find_known_card("H200");
  const auto ratio = [&](const KernelLoad& load_here, const KernelLoad& load_there) {
    return transferred_ns(1e6, load_here, load_there, here, there) / 1e6;
  };
  EXPECT_NEAR(ratio({1, 1e6}, {1, 0.7e6}), 0.7, 0.02);
  EXPECT_NEAR(ratio({1e6, 1}, {0.5e6, 1}), 0.5, 1e-3);
  EXPECT_NEAR(ratio({1, 1}, {0.25, 1}), 0.5, 1e-3) << "what waits goes by half of it";
  EXPECT_NEAR(ratio({1, 5e6}, {1, 3.5e6}), 0.7, 0.02) << "a cache holds the bytes on both";
}

}  // namespace
}  // namespace understudy::predictor
