// Every recipe's calls bind and run; what they return has the shapes of their operators.

#include "replayer/calibrator/measure/caller.h"

#include <ATen/ops/_efficientzerotensor.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "call_timer.h"
#include "replayer/calibrator/design/area.h"
#include "replayer/calibrator/design/recipe.h"

namespace understudy::calibrator {
namespace {

using et_schema::MeasuredCall;
using Rows = std::vector<MeasuredCall>;

constexpr TimingLimits kQuick{.least = 1, .most = 1, .seconds = 0};

Call made(const Recipe& recipe, const DimensionValues& values = {}) {
  return *make_call(recipe, values, {});
}

std::string refusal(Caller& caller, const Call& call) {
  const auto outcome = caller.time(call);
  const auto* const refused = std::get_if<Refusal>(&outcome);
  return refused == nullptr ? "timed" : refused->reason;
}

TEST(Caller, ZerosWithoutMemoryAreInNoCache) {
  const at::Tensor zeros = at::_efficientzerotensor({8, 16});
  ASSERT_EQ(zeros.storage().data(), nullptr);
  evict_tensor(zeros);
}

TEST(Caller, ARowForEachNumberOfThreadsColdAndWarm) {
  Caller caller({.threads = {1, 2}, .limits = {.least = 3, .most = 3, .seconds = 0}});
  const Rows rows = std::get<Rows>(caller.time(made({"aten::mm", "", "{8,16} {16,4}"})));
  ASSERT_EQ(rows.size(), 4U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const MeasuredCall& row = rows[i];
    EXPECT_EQ(row.call.name, "aten::mm");
    EXPECT_EQ(row.call.overload, "");
    EXPECT_EQ(row.op_class, "matmul");
    EXPECT_EQ(row.as, et_schema::RanAs::kExact);
    ASSERT_EQ(row.call.inputs.size(), 2U);
    ASSERT_EQ(row.call.outputs.size(), 1U);
    EXPECT_EQ(row.call.outputs[0].sizes, (std::vector<std::int64_t>{8, 4}));
    EXPECT_TRUE(row.call.outputs[0].strides.empty());
    EXPECT_EQ(row.time().n, 3U);
    EXPECT_GT(row.time().min_ns, 0);
    ASSERT_TRUE(row.conditions.has_value());
    EXPECT_EQ(row.conditions->call, "aten::mm(float32[8,16], float32[16,4])");
    EXPECT_EQ(row.conditions->threads, i < 2 ? 1 : 2);
    EXPECT_EQ(row.conditions->is_cold, i % 2 == 0);
    EXPECT_EQ(row.counters.contains("minor_faults"), row.conditions->is_cold);
    EXPECT_GT(row.conditions->speed_probe_ms, 0);
  }
}

TEST(Caller, DefaultsAreFilledIn) {
  Caller caller({.threads = {1}, .limits = kQuick});
  const Rows rows = std::get<Rows>(caller.time(made({"aten::add.Tensor", "", "{4} {4}"})));
  EXPECT_EQ(rows[0].conditions->call, "aten::add.Tensor(float32[4], float32[4], 1)");
  EXPECT_EQ(rows[0].call.overload, "Tensor");
}

TEST(Caller, LookupsAreCounted) {
  Caller caller({.threads = {1}, .limits = kQuick});
  const Rows rows = std::get<Rows>(caller.time(made({"aten::embedding", "", "{1000,8} i{64}"})));
  ASSERT_TRUE(rows[0].conditions->lookups.has_value());
  EXPECT_EQ(rows[0].conditions->lookups->rows, 1000);
  EXPECT_EQ(rows[0].conditions->lookups->lookups, 64);
  EXPECT_GT(rows[0].conditions->lookups->unique, 40);
  EXPECT_LE(rows[0].conditions->lookups->unique, 64);
}

TEST(Caller, WhatDoesNotRunSaysWhy) {
  Caller caller({.threads = {1}, .limits = kQuick});
  EXPECT_EQ(refusal(caller, made({"aten::no_such_thing", "", "{4}"})),
            "this LibTorch has no such operator");
  EXPECT_EQ(refusal(caller, made({"aten::mm", "", "{4,4}"})), "argument mat2 has no default");
  EXPECT_NE(refusal(caller, made({"aten::mm", "", "{4,5} {6,7}"})).find("cannot be multiplied"),
            std::string::npos);
  EXPECT_EQ(refusal(caller, made({"aten::mm", "", "{4,5} {5,7}"})), "timed");
}

class Warnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
  std::vector<std::string> texts;
};

TEST(Caller, TheSmallestCallOfNoRecipeWarns) {
  Caller caller({.threads = {1}, .limits = kQuick});
  Warnings warnings;
  const c10::WarningUtils::WarningHandlerGuard guard(&warnings);
  for (const Recipe& recipe : recipes()) {
    DimensionValues least;
    for (const Dimension& dimension : dimensions_of(recipe)) {
      least[dimension.name] = dimension.choices.empty() ? dimension.low : dimension.choices.front();
    }
    if (const auto call = make_call(recipe, least, {})) {
      static_cast<void>(caller.time(*call));
    }
    EXPECT_TRUE(warnings.texts.empty()) << recipe.op << ": " << warnings.texts.front();
    warnings.texts.clear();
  }
}

/// Two small points of each area.
TEST(Caller, CallsOfEveryRecipeRun) {
  Caller caller({.threads = {1}, .limits = kQuick});
  for (const Area& area : make_areas("", {.bytes = 1 << 20, .work = 1e6})) {
    std::size_t timed = 0;
    std::string reason = "no point within the limits";
    for (std::uint64_t i = 0; i < 2000 && timed < 2; ++i) {
      const auto point = area.at(i);
      if (!point) {
        continue;
      }
      const auto outcome = caller.time(*point);
      if (const auto* const refused = std::get_if<Refusal>(&outcome)) {
        reason = to_text(*point) + ": " + refused->reason;
      } else {
        ++timed;
        EXPECT_FALSE(std::get<Rows>(outcome).empty());
      }
    }
    EXPECT_EQ(timed, 2U) << area.name() << ": " << reason;
  }
}

}  // namespace
}  // namespace understudy::calibrator
