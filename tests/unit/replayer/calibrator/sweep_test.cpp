// Order and end of areas, by a clock and times that are played.

#include "replayer/calibrator/sweep/sweep.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace understudy::calibrator {
namespace {

constexpr Recipe kSmooth{"aten::relu", "n:1..1048576", "{n}"};
constexpr Recipe kRough{"aten::sort", "r:1..1024 c:1..1024", "{r,c}"};
constexpr Recipe kHeavy{.op = "aten::mm",
                        .dims = "m:1..64 k:1..64 n:1..64",
                        .args = "{m,k} {k,n}",
                        .work = "m*k*n",
                        .weight = 3};
constexpr Recipe kTiny{"aten::item", "n:1..4", "{n}"};

/// Plays a machine: each call takes a second of the sweep.
class FakeMachine {
 public:
  SweepHooks hooks() {
    SweepHooks hooks;
    hooks.now_s = [this] { return now_s_; };
    hooks.measure = [this](const DesignPoint& point) -> std::optional<double> {
      now_s_ += seconds_a_call;
      const std::string op = point.call.schema;
      ++calls[op];
      if (op == refused) {
        return std::nullopt;
      }
      const double smooth = 1000 + std::exp(point.features[0]);
      return op == "aten::sort" && calls[op] % 2 == 0 ? 5 * smooth : smooth;
    };
    hooks.is_interrupted = [this] { return now_s_ >= interrupted_at_s; };
    return hooks;
  }

  std::map<std::string, int> calls;
  std::string refused;
  double seconds_a_call = 1;
  double interrupted_at_s = 1e9;

 private:
  double now_s_ = 100;
};

std::vector<Area> areas(std::initializer_list<Recipe> recipes) {
  std::vector<Area> made;
  for (const Recipe& recipe : recipes) {
    made.emplace_back(recipe, CallLimits());
  }
  return made;
}

TEST(Sweep, AnAreaEndsWhenItIsPredictedWell) {
  FakeMachine machine;
  const auto results =
      run_sweep(areas({kSmooth, kRough}), {.budget_s = 400, .error = 0.1}, machine.hooks());
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].end, AreaEnd::kError);
  EXPECT_LE(results[0].error.value_or(1), 0.1);
  EXPECT_GE(results[0].points, kJudged);
  EXPECT_EQ(results[1].end, AreaEnd::kBudget) << "its times are not to be predicted";
  EXPECT_GT(results[1].error.value_or(0), 0.1);
  EXPECT_GT(machine.calls["aten::sort"], 3 * machine.calls["aten::relu"]);
}

TEST(Sweep, TheBudgetIsSharedByWeight) {
  FakeMachine machine;
  const auto results =
      run_sweep(areas({kRough, kHeavy}), {.budget_s = 80, .error = 1e-9}, machine.hooks());
  EXPECT_EQ(results[0].end, AreaEnd::kBudget);
  EXPECT_EQ(results[1].end, AreaEnd::kBudget);
  EXPECT_EQ(machine.calls["aten::sort"] + machine.calls["aten::mm"], 80);
  EXPECT_NEAR(machine.calls["aten::mm"], 60, 2);
}

TEST(Sweep, AnOperatorThatTakesNoCallIsGivenUp) {
  FakeMachine machine;
  machine.refused = "aten::relu";
  const auto results =
      run_sweep(areas({kSmooth, kHeavy}), {.budget_s = 30, .error = 1e-9}, machine.hooks());
  EXPECT_EQ(results[0].end, AreaEnd::kRefused);
  EXPECT_EQ(results[0].refused, kMostRefused);
  EXPECT_EQ(results[0].points, 0U);
  EXPECT_EQ(machine.calls["aten::mm"], 30 - static_cast<int>(kMostRefused));
}

TEST(Sweep, ACallIsMeasuredOnceHoweverOftenItIsDrawn) {
  FakeMachine machine;
  const auto results =
      run_sweep(areas({kTiny}), {.budget_s = 1000, .error = 1e-9}, machine.hooks());
  EXPECT_EQ(results[0].end, AreaEnd::kExhausted);
  EXPECT_EQ(results[0].points, 12U);  // four sizes, three element types
}

TEST(Sweep, AnInterruptionKeepsWhatIsThere) {
  FakeMachine machine;
  machine.interrupted_at_s = 110;
  const auto results =
      run_sweep(areas({kRough, kHeavy}), {.budget_s = 80, .error = 1e-9}, machine.hooks());
  EXPECT_EQ(results[0].end, AreaEnd::kInterrupted);
  EXPECT_EQ(results[0].points + results[1].points, 10U);
}

TEST(Sweep, KnownCallsCostNothingAndAreStillSharedOut) {
  FakeMachine machine;
  machine.seconds_a_call = 0;
  const auto results = run_sweep(
      areas({kRough, kHeavy}), {.budget_s = 10, .error = 1e-9, .most_points = 50}, machine.hooks());
  EXPECT_EQ(results[0].end, AreaEnd::kPoints);
  EXPECT_EQ(results[1].end, AreaEnd::kPoints);
  EXPECT_EQ(results[0].points, 50U);
}

TEST(Sweep, EveryEndHasAName) {
  EXPECT_EQ(to_string(AreaEnd::kError), "error");
  EXPECT_EQ(to_string(AreaEnd::kInterrupted), "interrupted");
}

}  // namespace
}  // namespace understudy::calibrator
