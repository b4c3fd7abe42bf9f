// A call as a program: layouts, values, text.

#include "replayer/calibrator/design/call.h"

#include <gtest/gtest.h>

#include "replayer/calibrator/design/recipe.h"

namespace understudy::calibrator {
namespace {

using et_schema::ValueRule;

constexpr const char* kEmbedding =
    "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
    "scale_grad_by_freq=False, bool sparse=False) -> Tensor";

Call embedding() {
  Call call = *make_call({"aten::embedding", "", "{100,8} i{32} -1 false false"}, {}, {});
  call.schema = kEmbedding;
  return call;
}

TEST(Call, BecomesAProgramWhoseTensorsLieInMemoryOfTheirOwn) {
  const et_schema::Program program = make_program({embedding()});
  ASSERT_EQ(program.instructions.size(), 1U);
  EXPECT_EQ(program.instructions[0].name, "aten::embedding");
  ASSERT_EQ(program.slots.size(), 2U);
  EXPECT_NE(program.slots[0].storage, program.slots[1].storage);
  EXPECT_TRUE(program.storages[0].external);
  EXPECT_EQ(program.storages[0].bytes, 3200);
  EXPECT_EQ(tensor_bytes(embedding()), 3200 + 256);
}

TEST(Call, SeveralAreInstructionsWithTensorsOfTheirOwn) {
  const et_schema::Program program = make_program({embedding(), embedding()});
  ASSERT_EQ(program.instructions.size(), 2U);
  EXPECT_EQ(et_schema::slots_in(program.instructions[1].args),
            (std::vector<et_schema::SlotId>{2, 3}));
  EXPECT_EQ(program.slots[3].value, program.slots[1].value);
}

TEST(Call, ASparseTensorMayHaveNoStrides) {
  Call call = embedding();
  et_schema::Slot& sparse = call.tensors[0].layout;
  sparse.sparse = true;
  sparse.strides.clear();
  EXPECT_EQ(tensor_bytes(call), 4 + 256);
  EXPECT_EQ(make_program({call}).storages[0].bytes, 4);
}

TEST(Call, IndicesStayWithinTheirTable) {
  const et_schema::Program program = make_program({embedding()});
  ASSERT_TRUE(program.slots[1].value.has_value());
  EXPECT_EQ(program.slots[1].value->kind, ValueRule::Kind(ValueRule::Integers{0, 100}));
}

TEST(Call, SkewedIndicesComeAgain) {
  Call call = embedding();
  call.index_skew = 1.2;
  const et_schema::Program program = make_program({call});
  ASSERT_TRUE(program.slots[1].value.has_value());
  EXPECT_TRUE(program.slots[1].value->is<ValueRule::ReusedIntegers>());
}

TEST(Call, ZerosAreAShareOfOnes) {
  Call call = *make_call({"aten::sqrt", "", "{64}z"}, {}, {.zeros = 0.75});
  call.schema = "aten::sqrt(Tensor self) -> Tensor";
  const et_schema::Program program = make_program({call});
  ASSERT_TRUE(program.slots[0].value.has_value());
  EXPECT_EQ(program.slots[0].value->kind, ValueRule::Kind(ValueRule::Bernoulli{0.25}));
}

TEST(Call, LongListsOfEqualTensorsAreCounted) {
  const Call call = *make_call({"aten::_foreach_sqrt", "", "[t*{8}]"}, {{"t", 40}}, {});
  EXPECT_EQ(to_text(call), "aten::_foreach_sqrt([40 × float32[8]])");
}

}  // namespace
}  // namespace understudy::calibrator
