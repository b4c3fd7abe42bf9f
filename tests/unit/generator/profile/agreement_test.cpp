// What the comparison of a made benchmark with the true one sees of each kind of error.

#include "agreement.h"

#include <gtest/gtest.h>

#include "trace_builder.h"

namespace understudy {
namespace {

using generator::test::kRelu;
using generator::test::tensor;
using generator::test::TestValue;
using generator::test::TraceBuilder;

/// A step: relu of a parameter (storage 11), its sum with the parameter, and the parameter's
/// update.
struct Step {
  TestValue added = tensor(10, 11, {8});  ///< what the sum adds to relu's result
  TestValue scale = tensor(16, 17, {8});  ///< what the update multiplies by
  std::int64_t sum_size = 8;
  std::int64_t factor = 1;
};

Agreement agreement_with(const Step& made) {
  const auto built = [](const Step& step) {
    TraceBuilder builder;
    builder.add(2, "aten::relu", kRelu, {tensor(10, 11, {8})}, {tensor(12, 13, {8})});
    builder.add(2, "aten::add", generator::test::kAdd,
                {tensor(12, 13, {8}), step.added, generator::test::integer(step.factor)},
                {tensor(14, 15, {step.sum_size})});
    const auto label = builder.add(2, "Optimizer.step#SGD.step", "", {}, {});
    builder.add(label, "aten::mul_", generator::test::kMulInPlace,
                {tensor(10, 11, {8}), step.scale}, {tensor(10, 11, {8})});
    return builder;
  };
  const TraceBuilder truth = built({});
  const TraceBuilder other = built(made);
  return agreement_of({truth.trace(), truth.program()}, {other.trace(), other.program()});
}

std::string text_of(const Share& share) {
  return std::to_string(share.agree) + " of " + std::to_string(share.all);
}

TEST(Agreement, IsWholeOfAStepWithItself) {
  const Agreement all = agreement_with({});
  EXPECT_TRUE(all.whole());
  EXPECT_EQ(text_of(all.operators), "3 of 3");
  EXPECT_EQ(text_of(all.inputs.all_four), "5 of 5");
  EXPECT_EQ(text_of(all.outputs.all_four), "3 of 3");
  EXPECT_EQ(text_of(all.numbers), "1 of 1");
  EXPECT_EQ(text_of(all.edges[0]), "3 of 3");
  EXPECT_EQ(text_of(all.edges[1]), "0 of 0");
  EXPECT_EQ(text_of(all.edges[2]), "2 of 2");
  EXPECT_EQ(text_of(all.externals), "4 of 4");
  EXPECT_EQ(all.true_memory.externals, 2U);
  EXPECT_EQ(all.true_memory.external_bytes, 64U);
}

TEST(Agreement, SeesAnotherWriter) {
  Step made;
  made.scale = tensor(14, 15, {8});
  const Agreement all = agreement_with(made);
  EXPECT_FALSE(all.whole());
  EXPECT_EQ(text_of(all.edges[0]), "3 of 3");
  EXPECT_EQ(text_of(all.edges[2]), "1 of 2");
  EXPECT_EQ(text_of(all.externals), "3 of 4");
  EXPECT_EQ(all.disagreements,
            (std::map<std::string, std::uint64_t>{
                {"aten::mul_.Tensor: writer of argument 1 (expected none, got aten::add)", 1}}));
  EXPECT_EQ(all.made_memory.externals, 1U);
}

TEST(Agreement, SeesAnotherExternalTensor) {
  Step made;
  made.added = tensor(18, 19, {8});
  const Agreement all = agreement_with(made);
  EXPECT_EQ(text_of(all.externals), "4 of 4");
  EXPECT_EQ(text_of(all.same_externals), "3 of 4");
  EXPECT_EQ(all.disagreements,
            (std::map<std::string, std::uint64_t>{
                {"aten::add.Tensor: argument 1 is another external tensor", 1}}));
  EXPECT_EQ(all.made_memory.external_bytes, 96U);
}

TEST(Agreement, SeesSizesAndNumbers) {
  Step made;
  made.sum_size = 4;
  made.factor = 2;
  const Agreement all = agreement_with(made);
  EXPECT_EQ(text_of(all.outputs.sizes), "2 of 3");
  EXPECT_EQ(text_of(all.outputs.dtype), "3 of 3");
  EXPECT_EQ(text_of(all.numbers), "0 of 1");
}

TEST(Agreement, SeesAnOperatorThatIsNotThere) {
  TraceBuilder truth;
  truth.add(2, "aten::relu", kRelu, {tensor(10, 11, {8})}, {tensor(12, 13, {8})});
  TraceBuilder made;
  made.add(2, "aten::relu", "", {}, {});
  made.add(2, "aten::relu", kRelu, {tensor(10, 11, {8})}, {tensor(12, 13, {8})});
  const Agreement all =
      agreement_of({truth.trace(), truth.program()}, {made.trace(), made.program()});
  EXPECT_EQ(text_of(all.operators), "0 of 1");
  EXPECT_EQ(all.not_made, 1U);
  EXPECT_EQ(text_of(all.edges[0]), "0 of 1");
  EXPECT_EQ(all.disagreements,
            (std::map<std::string, std::uint64_t>{
                {"aten::relu: not replayed, but what is below or above it", 1}}));
}

}  // namespace
}  // namespace understudy
