// The distinct calls of a benchmark, and those around them.

#include "replayer/calibrator/design/bench_calls.h"

#include <gtest/gtest.h>

#include "replayer/calibrator/design/recipe.h"

namespace understudy::calibrator {
namespace {

constexpr const char* kMm = "aten::mm(Tensor self, Tensor mat2) -> Tensor";

/// Two equal products, one with a transposed operand, a marker, a product of a sparse matrix.
et_schema::Program sample() {
  const Call plain = *make_call({"aten::mm", "", "{32,64} {64,16}"}, {}, {});
  et_schema::Program program = make_program([&] {
    Call call = plain;
    call.schema = kMm;
    return call;
  }());
  program.instructions.push_back(program.instructions[0]);
  et_schema::Slot transposed = program.slots[1];
  transposed.strides = {1, 64};
  program.slots.push_back(transposed);
  program.instructions.push_back(program.instructions[0]);
  program.instructions.back().args[1].value = et_schema::Argument::SlotRef{2};
  program.instructions.emplace_back().kind = et_schema::InstructionKind::kMarker;
  et_schema::Slot sparse = program.slots[0];
  sparse.sparse = true;
  program.slots.push_back(sparse);
  program.instructions.push_back(program.instructions[0]);
  program.instructions.back().args[0].value = et_schema::Argument::SlotRef{3};
  return program;
}

std::vector<std::string> texts_of(const std::vector<Call>& calls) {
  std::vector<std::string> texts;
  for (const Call& call : calls) {
    texts.push_back(to_text(call));
  }
  return texts;
}

TEST(BenchCalls, EachCallOnceAndWhatIsNoneByReason) {
  BenchCalls found;
  add_calls(sample(), found);
  add_calls(sample(), found);
  EXPECT_EQ(texts_of(found.calls),
            (std::vector<std::string>{"aten::mm(float32[32,64], float32[64,16])",
                                      "aten::mm(float32[32,64], float32[64,16]:[1,64])"}));
  EXPECT_EQ(found.left_out, (std::map<std::string, std::uint64_t>{
                                {"a sparse tensor of unknown elements", 2}, {"no operator", 2}}));
}

TEST(BenchCalls, ATensorGivenTwiceStaysOne) {
  et_schema::Program program = sample();
  program.instructions.resize(1);
  program.instructions[0].args[1] = program.instructions[0].args[0];
  BenchCalls found;
  add_calls(program, found);
  ASSERT_EQ(found.calls.size(), 1U);
  EXPECT_EQ(found.calls[0].tensors.size(), 1U);
}

TEST(BenchCalls, SharesOfZerosGoAlong) {
  et_schema::Program program = sample();
  program.storages[0].zeros = 0.5;
  BenchCalls found;
  add_calls(program, found);
  EXPECT_EQ(to_text(found.calls[0]), "aten::mm(float32[32,64] zeros 0.5, float32[64,16])");
}

TEST(BenchCalls, NeighboursChangeOneSizeEverywhere) {
  const Call call =
      *make_call({"aten::x", "", "{32,64}' {64,7} [=n 1] 64"}, {{"n", 64}}, {.layout = 0.5});
  EXPECT_EQ(
      texts_of(neighbours(call)),
      (std::vector<std::string>{"aten::x(float32[32,64]:[1,32], float32[64,14], [64, 1], 64)",
                                "aten::x(float32[64,64]:[1,64], float32[64,7], [64, 1], 64)",
                                "aten::x(float32[16,64]:[1,16], float32[64,7], [64, 1], 64)",
                                "aten::x(float32[32,128]:[1,32], float32[128,7], [128, 1], 128)",
                                "aten::x(float32[32,32]:[1,32], float32[32,7], [32, 1], 32)"}));
}

}  // namespace
}  // namespace understudy::calibrator
