// What blurring changes, and what it has to leave as it is.

#include "generator/resize/blur_shapes.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "generator/flow/model_names.h"
#include "testing/made_program.h"

namespace understudy::generator {
namespace {

using et_schema::Bench;
using et_schema::DType;
using testing_programs::numbers;
using testing_programs::ref;

constexpr std::string_view kLinear =
    "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor";

/// A program of operators on tensors that are whole and lie in rows.
class Steps {
 public:
  Steps() {
    bench_.programs = {Program()};
    bench_.groups.emplace_back();
    bench_.sources.emplace_back();
  }
  SlotId tensor(std::vector<std::int64_t> sizes, bool external = true,
                DType dtype = DType::kFloat32) {
    return testing_programs::add_tensor(program(), std::move(sizes), external, dtype);
  }
  SlotId call(std::string_view schema, std::vector<Argument> args,
              std::vector<std::int64_t> sizes) {
    const SlotId made = tensor(std::move(sizes), false);
    testing_programs::add_call(program(), schema, std::move(args), {ref(made)});
    return made;
  }
  Program& program() { return bench_.programs.edit(0); }
  [[nodiscard]] Blurred blurred(double within = 0.05) const { return blur_shapes(bench_, within); }

 private:
  Bench bench_;
};

TEST(BlurShapes, ASizeIsTheSameOtherOneEverywhere) {
  Steps steps;
  const SlotId x = steps.tensor({300, 2048});
  const SlotId weight = steps.tensor({5000, 2048});
  const SlotId y = steps.call(kLinear, {ref(x), ref(weight), {}}, {300, 5000});
  steps.call("aten::t(Tensor(a) self) -> Tensor(a)", {ref(y)}, {5000, 300});
  const Blurred blurred = steps.blurred();
  ASSERT_EQ(blurred.changed.size(), 3U);
  for (const auto& [size, now] : blurred.changed) {
    EXPECT_NE(size, now);
    EXPECT_LE(std::abs(now - size), size / 20) << size;
    EXPECT_EQ(std::gcd(now, 64), std::gcd(size, 64)) << size;
  }
  const Program& program = blurred.bench.programs[0];
  const auto now = [&](std::int64_t size) { return blurred.changed.at(size); };
  EXPECT_EQ(program.slots[x].sizes, (std::vector{now(300), now(2048)}));
  EXPECT_EQ(program.slots[weight].sizes, (std::vector{now(5000), now(2048)}));
  EXPECT_EQ(program.slots[weight].strides, (std::vector{now(2048), std::int64_t{1}}));
  EXPECT_EQ(program.storages[weight].bytes, now(5000) * now(2048) * 4);
  EXPECT_EQ(program.slots[y].sizes, (std::vector{now(300), now(5000)}));
  EXPECT_EQ(blurred.before.flops, 2.0 * 300 * 5000 * 2048);
  EXPECT_EQ(blurred.after.flops,
            2.0 * static_cast<double>(now(300) * now(5000)) * static_cast<double>(now(2048)));
  EXPECT_EQ(steps.blurred().changed, blurred.changed);
}

TEST(BlurShapes, ProductsStay) {
  Steps steps;
  const SlotId x = steps.tensor({100, 2048});
  steps.call("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", {ref(x), numbers({204800})},
             {204800});
  const Blurred blurred = steps.blurred();
  EXPECT_TRUE(blurred.changed.empty());
  EXPECT_EQ(blurred.kept.at(204800), "aten::view: a product of other sizes");
  EXPECT_EQ(blurred.kept.size(), 3U);
}

TEST(BlurShapes, AViewThatAddsADimensionOfOneGoesAlong) {
  Steps steps;
  const SlotId x = steps.tensor({5000});
  steps.call("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", {ref(x), numbers({1, 5000})},
             {1, 5000});
  const Blurred blurred = steps.blurred();
  const std::int64_t now = blurred.changed.at(5000);
  const Instruction& view = blurred.bench.programs[0].instructions[0];
  EXPECT_EQ(std::get<Argument::List>(view.args[1].value)[1], (Argument{now}));
}

TEST(BlurShapes, OnlyTheSizesOfAProductStay) {
  Steps steps;
  const SlotId x = steps.tensor({20, 100, 5000});
  steps.call("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
             {ref(x), numbers({2000, 5000})}, {2000, 5000});
  const Blurred blurred = steps.blurred(0.5);
  EXPECT_EQ(blurred.changed.size(), 1U);
  EXPECT_TRUE(blurred.changed.contains(5000));
  EXPECT_EQ(blurred.kept.at(100), "aten::view: a product of other sizes");
  EXPECT_EQ(blurred.kept.at(2000), "aten::view: a product of other sizes");
}

TEST(BlurShapes, WhatChangesWithinABoundChangesWithinALargerOne) {
  for (std::int64_t rows = 100; rows < 400; rows += 77) {
    Steps steps;
    const SlotId x = steps.tensor({rows, 700});
    const SlotId weight = steps.tensor({8000, 700});
    const SlotId y = steps.call(kLinear, {ref(x), ref(weight), {}}, {rows, 8000});
    steps.call("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
               {ref(y), numbers({2 * rows, 50, 80})}, {2 * rows, 50, 80});
    steps.call("aten::relu(Tensor self) -> Tensor", {ref(steps.tensor({81, 404}))}, {81, 404});
    std::map<std::int64_t, std::int64_t> before;
    for (int percent = 1; percent <= 50; ++percent) {
      const Blurred blurred = steps.blurred(percent / 100.0);
      for (const auto& [size, now] : before) {
        EXPECT_TRUE(blurred.changed.contains(size)) << size << " within " << percent << " %";
      }
      before = blurred.changed;
      const auto now = [&](std::int64_t size) {
        const auto found = before.find(size);
        return found == before.end() ? size : found->second;
      };
      EXPECT_LE(now(81) * now(404), 32768);
      EXPECT_LE(std::abs(now(404) - 404), 404 * percent / 100);
    }
    EXPECT_TRUE(before.contains(404));
  }
}

TEST(BlurShapes, RecurrentLayersMultiplyRowsByWeights) {
  Steps steps;
  const SlotId x = steps.tensor({7, 3, 20});
  const std::vector<Argument> states = {ref(steps.tensor({1, 3, 30})),
                                        ref(steps.tensor({1, 3, 30}))};
  const std::vector<Argument> weights = {ref(steps.tensor({120, 20})), ref(steps.tensor({120, 30})),
                                         ref(steps.tensor({120})), ref(steps.tensor({120}))};
  steps.call(
      "aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases) -> "
      "(Tensor, Tensor, Tensor)",
      {ref(x), {Argument::List(states)}, {Argument::List(weights)}, {true}}, {7, 3, 30});
  constexpr double kForward = 2.0 * 7 * 3 * 120 * (20 + 30);
  EXPECT_EQ(steps.blurred().before.flops, kForward);
  steps.call(
      "aten::mkldnn_rnn_layer_backward(Tensor input, Tensor weight1, Tensor weight2, Tensor "
      "weight3, Tensor weight4, Tensor hx_) -> Tensor",
      {ref(x), weights[0], weights[1], weights[2], weights[3], ref(steps.tensor({3, 30}))},
      {7, 3, 20});
  EXPECT_EQ(steps.blurred().before.flops, kForward + 2 * kForward);
}

/// Reads a tensor.
SlotId relu(Steps& steps, SlotId x) {
  steps.call("aten::relu(Tensor self) -> Tensor", {ref(x)}, steps.program().slots[x].sizes);
  return x;
}

TEST(BlurShapes, WhatIsNotKnownIsKeptByName) {
  const auto why = [](const std::function<void(Steps&)>& make, std::int64_t size) {
    Steps steps;
    make(steps);
    const Blurred blurred = steps.blurred();
    EXPECT_FALSE(blurred.changed.contains(size));
    return blurred.kept.contains(size) ? blurred.kept.at(size) : "not kept";
  };
  EXPECT_EQ(why(
                [](Steps& steps) {
                  steps.call("acme::mix(Tensor a) -> Tensor", {ref(steps.tensor({5000}))}, {5000});
                },
                5000),
            "acme::mix: how it computes sizes is not known here");
  EXPECT_EQ(why([](Steps& steps) { relu(steps, steps.tensor({64})); }, 64),
            "no other size within the bound has its alignment and side");
  EXPECT_EQ(why(
                [](Steps& steps) {
                  const SlotId part = relu(steps, steps.tensor({3, 5000}));
                  steps.program().storages[part].bytes = 1 << 20;
                },
                5000),
            "a tensor that is a part of a larger memory");
  EXPECT_EQ(why(
                [](Steps& steps) {
                  steps.call("aten::cat(Tensor[] tensors, int dim=0) -> Tensor",
                             {{Argument::List{ref(steps.tensor({5000, 3}))}}, {std::int64_t{0}}},
                             {5000, 3});
                },
                5000),
            "aten::cat: a size that it cuts or joins");
  EXPECT_EQ(why(
                [](Steps& steps) {
                  steps.call("aten::sum(Tensor self, int times) -> Tensor",
                             {ref(steps.tensor({5000})), {std::int64_t{5000}}}, {5000});
                },
                5000),
            "aten::sum: 'times' is that number");
  EXPECT_EQ(why(
                [](Steps& steps) {
                  steps.call("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor",
                             {ref(steps.tensor({5000})), ref(steps.tensor({1}))}, {5001});
                },
                5001),
            "aten::mul.Tensor: a size that none of its arguments has");
  EXPECT_EQ(why(
                [](Steps& steps) {
                  const et_schema::ValueRule rule{et_schema::ValueRule::Offsets{.end = 5000}};
                  steps.program().slots[relu(steps, steps.tensor({5000}))].value = rule;
                },
                5000),
            "what a tensor holds depends on it");
}

TEST(BlurShapes, RowsOfTablesGrowAndTheirIndicesFit) {
  Steps steps;
  const SlotId weight = steps.tensor({5000, 20});
  const SlotId indices = steps.tensor({77}, true, DType::kInt64);
  const et_schema::ValueRule rule{et_schema::ValueRule::Integers{.high = 5000}};
  steps.program().slots[indices].value = rule;
  steps.call("aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1) -> Tensor",
             {ref(weight), ref(indices), {std::int64_t{-1}}}, {77, 20});
  const Blurred blurred = steps.blurred();
  const std::int64_t rows = blurred.changed.at(5000);
  EXPECT_GT(rows, 5000);
  EXPECT_EQ(blurred.bench.programs[0].slots[indices].value->kind,
            et_schema::ValueRule::Kind(et_schema::ValueRule::Integers{.high = rows}));
}

TEST(BlurShapes, HeapBlocksOfTheOriginalGo) {
  Steps steps;
  const SlotId x = steps.tensor({5000});
  steps.call("aten::relu(Tensor self) -> Tensor", {ref(x)}, {5000});
  et_schema::Timing& timing = steps.program().instructions[0].timing.emplace();
  timing.host_ns = 7;
  timing.page_faults = 3;
  steps.program().heap_blocks[0] = {{20000, 0}};
  const Blurred blurred = steps.blurred();
  const et_schema::Timing& now = *blurred.bench.programs[0].instructions[0].timing;
  EXPECT_EQ(now.host_ns, 7);
  EXPECT_TRUE(blurred.bench.programs[0].heap_blocks.empty());
  EXPECT_FALSE(now.page_faults);
}

constexpr std::string_view kLookup =
    "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
    "scale_grad_by_freq=False, bool sparse=False) -> Tensor";

TEST(BlurShapes, BoundsOfIndicesTellNothingOfTheOldSize) {
  using et_schema::ValueRule;
  Steps steps;
  const SlotId table = steps.tensor({8000, 256});
  const SlotId drawn = steps.tensor({24}, true, DType::kInt64);
  const SlotId reused = steps.tensor({24}, true, DType::kInt64);
  Program& program = steps.program();
  program.slots[drawn].value = ValueRule{ValueRule::Integers{0, 7981}};
  const et_schema::Reuse reuse{{{7, 4000, {{2, 6}}}, {4000, 7981, {{1, 12}}}}};
  program.slots[reused].value = ValueRule{ValueRule::ReusedIntegers{7, 7981, reuse}};
  steps.call(kLookup, {ref(table), ref(drawn), {std::int64_t{7999}}}, {24, 256});
  steps.call(kLookup, {ref(table), ref(reused), {std::int64_t{-1}}}, {24, 256});
  const Blurred blurred = steps.blurred();
  const std::int64_t rows = blurred.changed.at(8000);
  EXPECT_GT(rows, 8000);
  const auto scaled = [rows](std::int64_t bound) { return bound * rows / 8000; };
  const Program& now = blurred.bench.programs[0];
  EXPECT_EQ(now.slots[drawn].value->kind, ValueRule::Kind(ValueRule::Integers{0, scaled(7981)}));
  const auto& range = *now.slots[reused].value->as<ValueRule::ReusedIntegers>();
  EXPECT_EQ(range.high, scaled(7981));
  EXPECT_EQ(range.reuse.bins.back().high, range.high);
  EXPECT_EQ(range.reuse.bins.front().high, range.reuse.bins.back().low);
  EXPECT_EQ(et_schema::find_problem(range.reuse), std::nullopt);
  EXPECT_EQ(now.instructions[0].args[2].value, decltype(Argument::value)(rows - 1));
  EXPECT_EQ(now.instructions[1].args[2].value, decltype(Argument::value)(std::int64_t{-1}));
}

TEST(BlurShapes, NoBoundOutgrowsASizeThatItWasBelow) {
  using et_schema::ValueRule;
  Steps steps;
  const SlotId table = steps.tensor({8000, 256});
  const SlotId kept = steps.tensor({8001, 256});  // odd: unknown operators keep it below
  const SlotId indices = steps.tensor({24}, true, DType::kInt64);
  steps.program().slots[indices].value = ValueRule{ValueRule::Integers{0, 7981}};
  steps.call(kLookup, {ref(table), ref(indices), {std::int64_t{-1}}}, {24, 256});
  steps.call("my::lookup(Tensor weight, Tensor indices) -> Tensor", {ref(kept), ref(indices)},
             {24, 256});
  const Blurred blurred = steps.blurred();
  EXPECT_GT(blurred.changed.at(8000), 8001);
  EXPECT_EQ(blurred.bench.programs[0].slots[indices].value->kind,
            ValueRule::Kind(ValueRule::Integers{0, 8001}));
}

TEST(BlurShapes, ARealNumberThatIsASizeGoesAlong) {
  Steps steps;
  const SlotId x = steps.tensor({300, 2048});
  steps.call("aten::div.Scalar(Tensor self, Scalar other) -> Tensor", {ref(x), {300.0}},
             {300, 2048});
  const Blurred blurred = steps.blurred();
  EXPECT_EQ(blurred.bench.programs[0].instructions[0].args[1].value,
            decltype(Argument::value)(static_cast<double>(blurred.changed.at(300))));
}

}  // namespace
}  // namespace understudy::generator
