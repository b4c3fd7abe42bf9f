#include "fleet/comparer/compare.h"

#include <gtest/gtest.h>

#include <cmath>

#include "et_schema/model/measurement.h"
#include "synthetic.h"

namespace understudy::comparer {
namespace {

/// A machine that does nothing else; one whose processes differ by some per cent and whose state
/// drifts while it is measured; one whose clock does that.
constexpr SyntheticNoise kQuiet = {.machine_spread = 0.004,
                                   .process_spread = 0.0015,
                                   .sample_spread = 0.006,
                                   .drift_spread = 0.004,
                                   .drift_memory = 0.9,
                                   .interruptions = 0.02};
constexpr SyntheticNoise kShared = {.machine_spread = 0.03,
                                    .process_spread = 0.003,
                                    .sample_spread = 0.02,
                                    .drift_spread = 0.02,
                                    .drift_memory = 0.95,
                                    .interruptions = 0.05};
constexpr SyntheticNoise kUnsteadyClock = {.machine_spread = 0.03,
                                           .process_spread = 0.0015,
                                           .sample_spread = 0.01,
                                           .drift_spread = 0.02,
                                           .drift_memory = 0.95,
                                           .interruptions = 0.03,
                                           .has_speed_probe = true};
constexpr std::size_t kManyPasses = 200;
constexpr int kIdenticalPairs = 40;
constexpr int kPlantedPairs = 20;

Run run(std::uint64_t seed, const SyntheticNoise& noise, const std::string& slow_class = "",
        double slowdown = 1) {
  return make_run({.seed = seed,
                   .iterations = noise.has_speed_probe ? kManyPasses : 30,
                   .noise = noise,
                   .slow_class = slow_class,
                   .slowdown = slowdown});
}

int reports_with_verdicts(const SyntheticNoise& noise) {
  int reports = 0;
  for (std::uint64_t pair = 0; pair < kIdenticalPairs; ++pair) {
    const Comparison comparison = compare({run(2 * pair + 1, noise)}, {run(2 * pair + 2, noise)});
    reports += verdicts(comparison) > 0 ? 1 : 0;
  }
  return reports;
}

/// Of the pairs with 3 % planted into a class: those where it is found, and no other class named.
int found_alone(const std::string& op_class, const SyntheticNoise& noise) {
  int found = 0;
  for (std::uint64_t pair = 0; pair < kPlantedPairs; ++pair) {
    const Comparison comparison =
        compare({run(2 * pair + 1001, noise)}, {run(2 * pair + 1002, noise, op_class, 1.03)});
    bool is_alone = true;
    for (const Row& row : comparison.rows) {
      const bool is_named = row.verdict == Verdict::kSlower || row.verdict == Verdict::kFaster;
      is_alone = is_alone && (!is_named || row.kind != RowKind::kClass || row.name == op_class);
    }
    const Row& row = row_of(comparison, RowKind::kClass, op_class);
    found += row.verdict == Verdict::kSlower && is_alone ? 1 : 0;
  }
  return found;
}

// Seeds are fixed: these are exact, and fail when the rule loses or gains.
TEST(Compare, IdenticalRunsAreNotToldApart) {
  EXPECT_LE(reports_with_verdicts(kQuiet), 1);
  EXPECT_LE(reports_with_verdicts(kShared), 2);
}

TEST(Compare, FindsThreePerCentInOneClass) {
  SyntheticNoise noise = kQuiet;
  noise.has_speed_probe = true;
  EXPECT_GE(found_alone("optimizer", noise), 18);  // 25 % of the step
  EXPECT_GE(found_alone("matmul", noise), 18);     // 60 %
}

TEST(Compare, FindsThemThoughTheMachineIsAsMuchFaster) {
  EXPECT_LE(reports_with_verdicts(kUnsteadyClock), 2);
  EXPECT_GE(found_alone("optimizer", kUnsteadyClock), 17);
  EXPECT_GE(found_alone("matmul", kUnsteadyClock), 18);
}

TEST(Compare, TellsHowMuchAndNamesTheOperators) {
  const Comparison comparison = compare({run(1, kQuiet)}, {run(2, kQuiet, "optimizer", 1.10)});
  const Row& slow = row_of(comparison, RowKind::kClass, "optimizer");
  EXPECT_EQ(slow.verdict, Verdict::kSlower);
  EXPECT_LT(slow.ratio->low, 1.10);
  EXPECT_GT(slow.ratio->high, 1.10);
  EXPECT_NEAR(slow.beside_rest->value, 1.10, 0.015);
  EXPECT_NEAR(*slow.change_ms, 2.5, 0.4);
  EXPECT_EQ(row_of(comparison, RowKind::kOperator, "aten::_fused_adam_").verdict, Verdict::kSlower);
  EXPECT_EQ(row_of(comparison, RowKind::kClass, "matmul").verdict, Verdict::kSame);
  // The other way round.
  const Comparison back = compare({run(2, kQuiet, "optimizer", 1.10)}, {run(1, kQuiet)});
  EXPECT_EQ(row_of(back, RowKind::kClass, "optimizer").verdict, Verdict::kFaster);
}

/// All operators, and the iteration, so many times as slow.
Run slowed(Run made, double factor) {
  for (Series& row : made.rows) {
    for (double& ms : row.samples_ms) {
      ms *= factor;
    }
  }
  return made;
}

TEST(Compare, OneRunCannotTellASlowerProgramFromASlowerMachine) {
  const Comparison comparison = compare({run(1, kQuiet)}, {slowed(run(2, kQuiet), 1.08)});
  EXPECT_EQ(verdicts(comparison), 0);
  const Row& matmul = row_of(comparison, RowKind::kClass, "matmul");
  EXPECT_EQ(matmul.verdict, Verdict::kUnsure);
  EXPECT_EQ(matmul.why, "as the rest");
  EXPECT_NEAR(row_of(comparison, RowKind::kCommon, "").ratio->value, 1.08, 0.01);
}

TEST(Compare, SaysWhereTheClockDoesNotShowAChange) {
  // The machine is as much faster as the class is slower.
  const comparer::Run faster = slowed(run(1, kUnsteadyClock, "optimizer", 1.06), 1 / 1.06);
  const Comparison comparison = compare({run(1, kUnsteadyClock)}, {faster});
  const Row& slow = row_of(comparison, RowKind::kClass, "optimizer");
  EXPECT_EQ(slow.verdict, Verdict::kSlower);
  EXPECT_EQ(slow.why, "beside the rest");
  EXPECT_NEAR(slow.ratio->value, 1, 1e-9);
  EXPECT_NEAR(slow.beside_rest->value, 1.06, 0.02);
  // What changed by itself says nothing about the others' rest.
  EXPECT_NEAR(row_of(comparison, RowKind::kClass, "matmul").beside_rest->value, 1, 0.02);
  EXPECT_EQ(verdicts(comparison), 3);  // the class, its operator, and the iteration
  ASSERT_TRUE(comparison.speed_probe);
  EXPECT_NEAR(comparison.speed_probe->value, 1 / 1.06, 1e-9);
}

TEST(Compare, WhereAllClassesAreSlowerTheyHaveThatInCommon) {
  SyntheticNoise noise = kUnsteadyClock;
  noise.machine_spread = 0;
  comparer::Run slower = slowed(run(2, noise), 1.5);
  for (Series& row : slower.rows) {
    for (double& ms : row.samples_ms) {
      ms /= row.kind == RowKind::kSpeedProbe ? 1.5 : 1;  // not the machine's
    }
  }
  const Comparison comparison = compare({run(1, noise)}, {slower});
  EXPECT_EQ(row_of(comparison, RowKind::kClass, "matmul").verdict, Verdict::kSlower);
  EXPECT_NEAR(row_of(comparison, RowKind::kCommon, "").ratio->value, 1.5, 0.05);
}

TEST(Compare, AnOperatorOfEverySecondStepHasNoRest) {
  const auto with_zeros = [](comparer::Run made, std::size_t first) {
    for (Series& row : made.rows) {
      for (std::size_t i = first; row.name == "optimizer" && i < row.samples_ms.size(); i += 2) {
        row.samples_ms[i] = 0;
      }
    }
    return made;
  };
  const Comparison comparison =
      compare({with_zeros(run(1, kQuiet), 0)}, {with_zeros(run(2, kQuiet), 1)});
  const Row& optimizer = row_of(comparison, RowKind::kClass, "optimizer");
  EXPECT_FALSE(optimizer.beside_rest);
  EXPECT_NE(optimizer.verdict, Verdict::kSlower);
  EXPECT_NE(optimizer.verdict, Verdict::kFaster);
}

TEST(Compare, WithoutASpeedProbeThereIsNone) {
  EXPECT_FALSE(compare({run(1, kQuiet)}, {run(2, kUnsteadyClock)}).speed_probe);
}

TEST(Compare, SeveralRunsCan) {
  std::vector<comparer::Run> a;
  std::vector<comparer::Run> b;
  for (std::uint64_t i = 0; i < 5; ++i) {
    a.push_back(run(2 * i + 1, kQuiet));
    b.push_back(slowed(run(2 * i + 2, kQuiet), 1.05));
  }
  const Comparison comparison = compare(a, b);
  EXPECT_EQ(row_of(comparison, RowKind::kIteration, "").verdict, Verdict::kSlower);
  EXPECT_EQ(row_of(comparison, RowKind::kCommon, "").verdict, Verdict::kSlower);
}

// σ 0.4 % in every sample, and from run to run.
constexpr SyntheticNoise kSteady = {.machine_spread = 0.004,
                                    .process_spread = 0.001,
                                    .sample_spread = 0.004,
                                    .drift_spread = 0,
                                    .drift_memory = 0,
                                    .interruptions = 0.01};
constexpr std::size_t kMostRuns = 5;

/// The first row of that kind and name, by the number of runs A.
std::vector<Row> by_runs(RowKind kind, const std::string& name, std::vector<comparer::Run> a,
                         const comparer::Run& b) {
  std::vector<Row> rows;
  while (!a.empty()) {
    rows.push_back(row_of(compare(a, {b}), kind, name));
    a.pop_back();
  }
  return {rows.rbegin(), rows.rend()};
}

TEST(Compare, MoreRunsThatAreAlikeAreNeverLessSure) {
  for (const bool has_speed_probe : {false, true}) {
    SyntheticNoise noise = kSteady;
    noise.has_speed_probe = has_speed_probe;
    for (const double factor : {1.05, 1.3}) {
      const auto at = [&](std::uint64_t seed, double slowdown) {
        return make_run({.seed = seed,
                         .iterations = 40,
                         .noise = noise,
                         .slow_class = kWholeStep,
                         .slowdown = slowdown});
      };
      const std::vector<comparer::Run> alike(kMostRuns, at(1, 1));
      const std::vector<Row> rows = by_runs(RowKind::kIteration, "", alike, at(2, factor));
      for (std::size_t i = 1; i < rows.size(); ++i) {
        // Their resamples differ: the noise of a run's own is as sure as 500 of these.
        EXPECT_LE(*rows[i].p, *rows[i - 1].p * 1.05) << factor << " with " << i + 1 << " runs";
      }
    }
  }
}

TEST(Compare, WhatOneRunShowsMoreRunsShow) {
  struct Planted {
    const char* op_class;
    RowKind kind;
    const char* name;
    double factor;
  };
  const std::vector<Planted> all = {{kWholeStep, RowKind::kIteration, "", 1.258},
                                    {kWholeStep, RowKind::kIteration, "", 1.20},
                                    {kWholeStep, RowKind::kIteration, "", 1.15},
                                    {"matmul", RowKind::kClass, "matmul", 1.25},
                                    {"optimizer", RowKind::kClass, "optimizer", 1.05}};
  for (const Planted& planted : all) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      std::vector<comparer::Run> a;
      for (std::size_t i = 0; i < kMostRuns; ++i) {
        a.push_back(run(100 * seed + i, kSteady));
      }
      const comparer::Run b = run(100 * seed + 50, kSteady, planted.op_class, planted.factor);
      bool is_shown = false;
      for (const Row& row : by_runs(planted.kind, planted.name, a, b)) {
        EXPECT_TRUE(!is_shown || row.verdict == Verdict::kSlower)
            << planted.name << " " << planted.factor << ", seed " << seed;
        is_shown = row.verdict == Verdict::kSlower;
      }
      EXPECT_TRUE(is_shown) << planted.name << " " << planted.factor << ", seed " << seed;
    }
  }
}

TEST(Compare, MoreThanAMachinesStateIsSeenInOneRun) {
  const Comparison comparison = compare({run(1, kQuiet)}, {slowed(run(2, kQuiet), 1.5)});
  EXPECT_EQ(row_of(comparison, RowKind::kIteration, "").verdict, Verdict::kSlower);
  EXPECT_EQ(row_of(comparison, RowKind::kClass, "matmul").verdict, Verdict::kSlower);
}

TEST(Compare, ABusyMachineMakesUnsure) {
  comparer::Run busy = run(2, kQuiet, "optimizer", 1.05);
  busy.switches_per_s = 400;
  const Comparison comparison = compare({run(1, kQuiet)}, {busy});
  EXPECT_EQ(comparison.switches_per_s, 400);
  const Row& slow = row_of(comparison, RowKind::kClass, "optimizer");
  EXPECT_EQ(slow.verdict, Verdict::kUnsure);
  EXPECT_EQ(slow.why, "noise");
}

// Large enough to be seen through the widened intervals, and a disturbance all the same.
TEST(Compare, ABusyMachineVetoesEveryChange) {
  for (const double factor : {1.8, 1 / 1.8}) {
    comparer::Run busy = run(2, kQuiet, "optimizer", factor);
    busy.switches_per_s = et_schema::kIdleSwitchesPerS;
    EXPECT_GT(verdicts(compare({run(1, kQuiet)}, {busy})), 0);
    busy.switches_per_s = et_schema::kIdleSwitchesPerS + 10;
    const Comparison comparison = compare({run(1, kQuiet)}, {busy});
    EXPECT_TRUE(comparison.was_busy);
    EXPECT_EQ(verdicts(comparison), 0);
    const Row& row = row_of(comparison, RowKind::kClass, "optimizer");
    EXPECT_EQ(row.verdict, Verdict::kUnsure);
    EXPECT_EQ(row.why, "busy");
  }
}

TEST(Compare, FewSamplesMakeUnsure) {
  comparer::Run single = run(2, kQuiet, "optimizer", 1.10);
  for (Series& row : single.rows) {
    row.samples_ms.resize(1);
  }
  const Comparison comparison = compare({run(1, kQuiet)}, {single});
  EXPECT_EQ(verdicts(comparison), 0);
  EXPECT_EQ(row_of(comparison, RowKind::kClass, "optimizer").why, "few samples");
}

TEST(Compare, WhereTheEnvironmentsDifferNothingNeedBeAlike) {
  comparer::Run other = slowed(run(2, kQuiet, "optimizer", 1.10), 0.5);
  other.environment.threads = 2;
  const Comparison comparison = compare({run(1, kQuiet)}, {other});
  EXPECT_FALSE(comparison.is_alike);
  ASSERT_EQ(comparison.differences.size(), 1U);
  EXPECT_EQ(comparison.differences[0].field, "threads");
  const Row& row = row_of(comparison, RowKind::kClass, "optimizer");
  EXPECT_FALSE(row.beside_rest);
  EXPECT_EQ(row.verdict, Verdict::kFaster);
  for (const Row& each : comparison.rows) {
    EXPECT_NE(each.kind, RowKind::kCommon);
  }
}

TEST(Compare, WhatOneSideDroppedDidNotBecomeFaster) {
  auto a = run(1, kQuiet);
  auto b = run(2, kQuiet, "matmul", 0.5);
  b.not_replayed["aten::mm"] = "2 dropped";
  const Comparison comparison = compare({a}, {b});
  EXPECT_EQ(row_of(comparison, RowKind::kClass, "matmul").why, "other work");
  EXPECT_EQ(row_of(comparison, RowKind::kIteration, "").verdict, Verdict::kUnsure);
  EXPECT_EQ(comparison.differences.front().field, "not_replayed");
  EXPECT_EQ(comparison.differences.front().b, "aten::mm (2 dropped)");
  a.not_replayed = b.not_replayed;
  EXPECT_EQ(row_of(compare({a}, {b}), RowKind::kClass, "matmul").verdict, Verdict::kFaster);
}

TEST(Compare, RowsOfOneSideAreListed) {
  comparer::Run more = run(2, kQuiet);
  more.rows.push_back({RowKind::kOperator, "aten::new", "elementwise", 2, {1.0, 3.0}});
  const Comparison comparison = compare({run(1, kQuiet)}, {more});
  const Row& row = row_of(comparison, RowKind::kOperator, "aten::new");
  EXPECT_EQ(row.verdict, Verdict::kUnsure);
  EXPECT_EQ(row.why, "only in B");
  EXPECT_FALSE(row.a_ms);
  EXPECT_EQ(row.b_ms, 2.0);
  EXPECT_EQ(row.change_ms, 2.0);
  EXPECT_EQ(row.count_b, 2U);
}

TEST(Compare, RowsStandByKindAndCost) {
  const Comparison comparison = compare({run(1, kQuiet)}, {run(2, kQuiet, "copy", 3)});
  EXPECT_EQ(comparison.rows[0].kind, RowKind::kIteration);
  EXPECT_EQ(comparison.rows[1].kind, RowKind::kCommon);
  EXPECT_EQ(comparison.rows[2].name, "copy");
  for (std::size_t i = 3; i < comparison.rows.size(); ++i) {
    if (comparison.rows[i].kind == comparison.rows[i - 1].kind) {
      EXPECT_LE(std::abs(*comparison.rows[i].change_ms),
                std::abs(*comparison.rows[i - 1].change_ms));
    }
  }
}

TEST(Compare, CountersOfBothSidesHaveAVerdictBySpreadsAndMargin) {
  comparer::Run a = make_run({.seed = 1});
  comparer::Run b = make_run({.seed = 2});
  a.counted = {{{"", "flop"}, {100, 0.01}}, {{"", "cycles"}, {5, 0.0}}};
  b.counted = {{{"", "flop"}, {104, 0.01}}};
  const auto verdict = [&](double margin) {
    const std::vector<et_schema::ComparedCounter> rows = compare({a}, {b}, {margin}).counters;
    return rows.size() == 1 ? rows[0].name + " " + rows[0].verdict : "";
  };
  EXPECT_EQ(verdict(0.02), "flop MORE");
  EXPECT_EQ(verdict(0.05), "flop SAME");
}

TEST(Compare, TheSameRunsGiveTheSameResult) {
  const Comparison first = compare({run(1, kShared)}, {run(2, kShared)});
  const Comparison second = compare({run(1, kShared)}, {run(2, kShared)});
  ASSERT_EQ(first.rows.size(), second.rows.size());
  for (std::size_t i = 0; i < first.rows.size(); ++i) {
    EXPECT_EQ(first.rows[i].p, second.rows[i].p);
    EXPECT_EQ(first.rows[i].ratio->low, second.rows[i].ratio->low);
  }
}

}  // namespace
}  // namespace understudy::comparer
