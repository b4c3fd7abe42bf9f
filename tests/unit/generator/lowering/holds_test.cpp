// What the original held beyond its last reader: by labels of autograd and optimizers, and by a
// profile of memory.

#include "generator/lowering/holds.h"

#include <gtest/gtest.h>

#include "generator/flow/model_names.h"
#include "trace_builder.h"

namespace understudy::generator::test {
namespace {

using Held = std::vector<std::optional<std::uint32_t>>;

/// A step of one parameter (storage 11) with its gradient (13), and a momentum (15).
class HoldsTest : public ::testing::Test {
 protected:
  void clear(const std::string& optimizer = "SGD") {
    builder_.add(2, "Optimizer.zero_grad#" + optimizer + ".zero_grad", "", {}, {});
  }
  void forward() { builder_.add(2, "aten::relu", kRelu, {parameter_}, {tensor(16, 17, {8})}); }
  void backward() {
    builder_.add(2, "aten::relu", kRelu, {tensor(16, 17, {8})}, {gradient_});
    const auto label = builder_.add(2, "torch::autograd::AccumulateGrad", "", {gradient_}, {});
    builder_.add(label, "aten::detach", kDetach, {gradient_}, {kept_});
  }
  void step(const std::string& optimizer = "SGD") {
    const auto label = builder_.add(2, "Optimizer.step#" + optimizer + ".step", "", {}, {});
    builder_.add(label, "aten::mul_", kMulInPlace, {tensor(14, 15, {8}), kept_},
                 {tensor(14, 15, {8})});
    builder_.add(label, "aten::mul_", kMulInPlace, {parameter_, tensor(14, 15, {8})}, {parameter_});
  }
  /// By storage of the program: the parameter, the activation, the gradient, the momentum.
  static Held held(const Program& program) {
    Held held;
    for (const et_schema::Storage& storage : program.storages) {
      held.push_back(storage.held_until);
    }
    return held;
  }

  TraceBuilder builder_;
  TestValue parameter_ = tensor(10, 11, {8});
  TestValue gradient_ = tensor(12, 13, {8});
  TestValue kept_ = tensor(18, 13, {8});
};

TEST_F(HoldsTest, AGradientLivesIntoTheNextStepWhereThatClearsIt) {
  clear();
  forward();
  backward();
  step();
  EXPECT_EQ(held(builder_.program()), (Held{{}, {}, 0, {}}));
}

TEST_F(HoldsTest, ClearedBetweenForwardAndBackward) {
  forward();
  clear();
  backward();
  step();
  EXPECT_EQ(held(builder_.program()), (Held{{}, {}, 1, {}}));
}

TEST_F(HoldsTest, ClearedBehindTheOptimizer) {
  forward();
  backward();
  step();
  clear();
  forward();
  EXPECT_EQ(held(builder_.program()), (Held{{}, {}, 5, {}, {}}));
}

TEST_F(HoldsTest, WithoutALabelUntilTheStepsEnd) {
  forward();
  backward();
  step();
  EXPECT_EQ(held(builder_.program()), (Held{{}, {}, 5, {}}));
}

TEST_F(HoldsTest, WhatNoOptimizerReadsIsLetGo) {
  forward();
  backward();
  kept_ = tensor(24, 25, {8});  // FSDP's: of a part of the parameter
  step();
  EXPECT_EQ(held(builder_.program()), Held(5));
}

TEST_F(HoldsTest, EachOptimizerClearsItsOwn) {
  clear("SGD");
  forward();
  clear("Adam");
  backward();
  step("Adam");
  EXPECT_EQ(held(builder_.program()), (Held{{}, {}, 1, {}}));
}

TEST_F(HoldsTest, OfTwoOptimizersOfOneClassEachAtItsPlace) {
  clear();
  forward();
  clear();
  backward();
  builder_.add(2, "Optimizer.step#SGD.step", "", {}, {});
  step();
  EXPECT_EQ(held(builder_.program()), (Held{{}, {}, 1, {}}));
}

TEST_F(HoldsTest,
       OfOneOptimizerThatStepsTwiceTheNextClearTakesIt) {  // two batches in the traced step
  clear();
  forward();
  backward();
  step();
  clear();
  forward();
  gradient_ = tensor(22, 23, {8});
  kept_ = tensor(24, 23, {8});
  backward();
  step();
  EXPECT_EQ(held(builder_.program()), (Held{{}, {}, 5, {}, {}, 0}));
}

TEST_F(HoldsTest, WhatTheOptimizerReadsFirstIsItsState) {
  forward();
  backward();
  step();
  const Program program = builder_.program();
  ASSERT_EQ(program.storages.size(), 4U);
  EXPECT_FALSE(program.storages[0].state);  // the parameter was read before
  EXPECT_FALSE(program.storages[2].state);  // the gradient is no external
  EXPECT_TRUE(program.storages[3].state);
}

/// A profile of memory, with each instruction of the program running from 100 i to 100 i + 50.
class ObservedTest : public HoldsTest {
 protected:
  ObservedTest() {
    forward();
    backward();
    step();
    trace_ = builder_.trace();
    program_ = builder_.program();
    observed_.nodes.resize(trace_.nodes.size());
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      observed_.nodes[trace_.find(program_.instructions[i].node_id)] =
          ObservedSpan{static_cast<std::int64_t>(100 * i), static_cast<std::int64_t>(100 * i + 50)};
    }
  }
  [[nodiscard]] Held observe(std::vector<ObservedBlock> blocks) {
    observed_.blocks = std::move(blocks);
    for (et_schema::Storage& storage : program_.storages) {
      storage.held_until.reset();
    }
    hold_storages(trace_, observed_, program_);
    return held(program_);
  }

  et_schema::Trace trace_;
  Program program_;
  ObservedMemory observed_;
};

TEST_F(ObservedTest, AFreeBehindTheLastReaderIsAHold) {
  // The activation is read last by instruction 1, and freed while instruction 3 runs.
  EXPECT_EQ(observe({{10, 310, 32}, {110, 390, 32}}), (Held{{}, 4, {}, {}}));
}

TEST_F(ObservedTest, AFreeRightBehindTheLastReaderIsNone) {
  EXPECT_EQ(observe({{10, 160, 32}, {110, 390, 32}}), (Held{{}, {}, {}, {}}));
}

TEST_F(ObservedTest, WhatIsNotFreedIsHeldToTheEnd) {
  EXPECT_EQ(observe({{10, {}, 32}, {110, 390, 32}}), (Held{{}, 5, {}, {}}));
}

TEST_F(ObservedTest, AGradientThatIsFreedInTheStepIsNotHeldForALabel) {
  EXPECT_EQ(observe({{10, 160, 32}, {110, 360, 32}}), (Held{{}, {}, {}, {}}));
  EXPECT_EQ(observe({{10, 160, 32}, {110, {}, 32}}), (Held{{}, {}, 5, {}}));
}

TEST_F(ObservedTest, BlocksOfOtherSizesAndTemporariesAreNotTaken) {
  EXPECT_EQ(observe({{5, 400, 16}, {10, 40, 32}, {20, 310, 64}, {25, {}, 4096}}),
            (Held{{}, 4, 5, {}}));
}

TEST_F(ObservedTest, WhatIsMadeForTheNextOperatorIsMadeBehindFrees) {
  program_.instructions[3].node_id = 0;  // as memory that a graph allocates
  EXPECT_EQ(observe({{10, 250, 32}, {110, 390, 32}}), (Held{{}, 3, {}, {}}));
}

TEST(ObserveMemory, JoinsTheStepsOwnProfileAlone) {
  TraceBuilder builder;
  builder.add(2, "aten::relu", kRelu, {tensor(10, 11, {8})}, {tensor(12, 13, {8})});
  const et_schema::Trace trace = builder.trace();
  const auto profile = [](const std::string& name, const std::string& memory) {
    return et_schema::parse_kineto(
        R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": ")" + name +
            R"(", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "args": {"Record function id": 3}})" +
            memory + "]}",
        "k.json");
  };
  const std::string memory =
      R"(, {"ph": "i", "name": "[memory]", "ts": 2, "args": {"Bytes": 32, "Addr": 64}})"
      R"(, {"ph": "i", "name": "[memory]", "ts": 9, "args": {"Bytes": -32, "Addr": 64}})"
      R"(, {"ph": "i", "name": "[memory]", "ts": 9, "args": {"Bytes": -32, "Addr": 128}})"
      R"(, {"ph": "i", "name": "[memory]", "ts": 10, "args": {"Bytes": 8, "Addr": 64}})";
  const ObservedMemory observed = observe_memory(trace, profile("aten::relu", memory));
  ASSERT_EQ(observed.blocks.size(), 2U);
  EXPECT_EQ(observed.blocks[0].allocated_ns, 2000);
  EXPECT_EQ(observed.blocks[0].freed_ns, 9000);
  EXPECT_EQ(observed.blocks[0].address, 64U);
  EXPECT_EQ(observed.blocks[1].freed_ns, std::nullopt);
  ASSERT_EQ(observed.nodes.size(), 3U);
  EXPECT_EQ(observed.nodes[2]->begin_ns, 1000);
  EXPECT_EQ(observed.nodes[2]->end_ns, 3000);

  EXPECT_TRUE(observe_memory(trace, profile("aten::mm", memory)).blocks.empty());
  EXPECT_TRUE(observe_memory(trace, profile("aten::relu", "")).blocks.empty());
}

}  // namespace
}  // namespace understudy::generator::test
