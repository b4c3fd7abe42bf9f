#include "data_flow.h"

#include <gtest/gtest.h>

#include "testing/made_program.h"

namespace understudy::emitter {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::Program;
using et_schema::SlotId;

/// Three layers y = relu(linear(x, w)), and what reads the last.
class Layers {
 public:
  Layers() {
    program_.schemas = {"aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
                        "aten::relu(Tensor self) -> Tensor"};
    SlotId x = add(true);
    for (int layer = 0; layer < 3; ++layer) {
      const SlotId weight = add(true);
      const SlotId y = add(false);
      const SlotId z = add(false);
      call("aten::linear", 0, {x, weight}, y);
      call("aten::relu", 1, {y}, z);
      x = z;
    }
    call("aten::relu", 1, {x}, add(false));
  }
  Program program_;

 private:
  SlotId add(bool external) { return testing_programs::add_tensor(program_, {64, 1024}, external); }
  void call(const char* name, et_schema::SchemaId schema, const std::vector<SlotId>& reads,
            SlotId makes) {
    Instruction instruction;
    instruction.name = name;
    instruction.schema = schema;
    for (const SlotId slot : reads) {
      instruction.args.push_back({Argument::SlotRef{slot}});
    }
    if (reads.size() == 2) {
      instruction.args.push_back({Argument::None{}});
    }
    instruction.results = {{Argument::SlotRef{makes}}};
    program_.instructions.push_back(std::move(instruction));
  }
};

TEST(DataFlow, MemoryGoesWithItsLastReader) {
  const Layers layers;
  const DataFlow flow(layers.program_);
  EXPECT_EQ(flow.death_of(layers.program_.slots[2].storage), 1U);  // linear's, read by relu
  EXPECT_EQ(flow.death_of(layers.program_.slots[3].storage), 2U);  // relu's, by the next linear
  EXPECT_FALSE(flow.death_of(layers.program_.slots[1].storage));   // a weight stays
}

TEST(DataFlow, WhatIsReplacedIsMadeBefore) {
  const Layers layers;
  const DataFlow flow(layers.program_, {false, true});
  EXPECT_TRUE(flow.is_given(3));
  EXPECT_FALSE(flow.is_given(2));
}

TEST(Phases, AreToldByNamesAndByWhatIsWritten) {
  Layers layers;
  Program& program = layers.program_;
  program.schemas.push_back(
      "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
  Instruction backward = program.instructions.back();
  backward.name = "aten::threshold_backward";
  Instruction update = program.instructions.front();
  update.name = "aten::add_.Tensor";
  update.schema = 2;
  program.instructions.push_back(backward);
  program.instructions.push_back(update);
  const Phases phases = find_phases(program);
  EXPECT_EQ(phases.backward, 7U);
  EXPECT_EQ(phases.update, 8U);
  EXPECT_EQ(phase_name(phases, 0), "forward");
  EXPECT_EQ(phase_name(phases, 7), "backward");
  EXPECT_EQ(phase_name(phases, 8), "update");
  // The gradient's seed before it, if it is of no dimension.
  program.instructions[5].name = "aten::ones_like";
  EXPECT_EQ(find_phases(program).backward, 7U);
  et_schema::for_each_slot(program.instructions[5].results,
                           [&](et_schema::SlotId slot) { program.slots[slot].sizes.clear(); });
  EXPECT_EQ(find_phases(program).backward, 5U);
}

}  // namespace
}  // namespace understudy::emitter
