// What holds the place of a compiled graph's kernel: bytes, time, values, and how it is counted.

#include <chrono>

#include "fixture.h"
#include "stub.h"

namespace understudy::replayer {
namespace {

using testing::constant;
using testing::DType;
using testing::InstructionKind;
using testing::ref;

constexpr std::int64_t kRecordedNs = 3'000'000;

class KernelStub : public testing::ReplayerTest {
 protected:
  et_schema::Instruction kernel(std::vector<et_schema::Argument> tensors,
                                const std::string& roles) {
    et_schema::Instruction instruction;
    instruction.kind = InstructionKind::kKernel;
    instruction.node_id = 7;
    instruction.name = "cpp_fused_gelu_0";
    instruction.args = std::move(tensors);
    instruction.args.push_back({roles});
    instruction.args.push_back({std::string("cabc.py")});
    et_schema::Timing timing;
    timing.host_ns = kRecordedNs;
    instruction.timing = timing;
    return instruction;
  }
};

TEST_F(KernelStub, KeepsValuesAndIsNoReplay) {
  const auto in = builder_.external(DType::kFloat32, {64, 100}, constant(2));
  const auto out = builder_.external(DType::kFloat32, {64, 100}, constant(3));
  builder_.add(kernel({ref(in), ref(out)}, "r w"));
  const auto sum = builder_.intermediate(DType::kFloat32, {64, 100});
  builder_.add_op(testing::kAdd, {ref(in), ref(out), testing::number(1)}, {ref(sum)});
  const auto kept = sink(DType::kFloat32, {64, 100});
  keep(sum, kept);
  static_cast<void>(try_out());
  EXPECT_EQ(slot(kept).sum().item<float>(), 5.0F * 6400);
  const et_schema::Coverage coverage = decisions_->coverage();
  ASSERT_EQ(coverage.stubbed.size(), 1U);
  EXPECT_EQ(coverage.stubbed[0].name, "cpp_fused_gelu_0");
  EXPECT_EQ(coverage.stubbed[0].note,
            "a stub: it moves the same bytes and takes the recorded time");
  EXPECT_EQ(coverage.exact, 2U);
  EXPECT_EQ(coverage.selected, 3U);
  EXPECT_TRUE(coverage.dropped.empty());
}

TEST_F(KernelStub, MakesWhatWasAllocatedForTheKernelWithTheValuesOfItsRule) {
  const auto in = builder_.external(DType::kFloat32, {64, 100}, constant(2));
  const auto out = builder_.intermediate(DType::kFloat32, {64, 100});
  builder_.slot(out).value = constant(3);
  et_schema::Instruction made = kernel({ref(in), {et_schema::Argument::Undefined{}}}, "r w");
  made.results = {ref(out)};
  builder_.add(std::move(made));
  const auto kept = sink(DType::kFloat32, {64, 100});
  keep(out, kept);
  static_cast<void>(try_out());
  EXPECT_EQ(slot(kept).sum().item<float>(), 3.0F * 6400);
  EXPECT_EQ(decisions_->coverage().stubbed.at(0).note,
            "a stub: it moves the same bytes and takes the recorded time");
}

TEST_F(KernelStub, TakesAtLeastTheRecordedTime) {
  const auto in = builder_.external(DType::kFloat32, {8}, constant(2));
  builder_.add(kernel({ref(in)}, "r"));
  static_cast<void>(try_out());
  const auto begin = std::chrono::steady_clock::now();
  iterate();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::nanoseconds(kRecordedNs));
}

TEST_F(KernelStub, IsWhereTheRolesAreKnown) {
  const auto in = builder_.external(DType::kFloat32, {8}, constant(2));
  const auto has_stub = [this](const et_schema::Instruction& instruction,
                               c10::Device device = c10::kCPU) {
    return find_kernel_stub(builder_.program(), instruction, device).has_value();
  };
  et_schema::Instruction known = kernel({ref(in), testing::number(8)}, "rw -");
  EXPECT_TRUE(has_stub(known));
  EXPECT_TRUE(has_stub(known, c10::Device(c10::kCUDA, 0)));
  EXPECT_FALSE(has_stub(kernel({ref(in)}, "r w"))) << "more roles than arguments";
  known.args.resize(2);
  EXPECT_FALSE(has_stub(known)) << "no roles";
}

TEST_F(KernelStub, WithoutOneAKernelIsDropped) {
  const auto in = builder_.external(DType::kFloat32, {8}, constant(2));
  auto& without_roles = builder_.add(kernel({ref(in)}, "r"));
  without_roles.args.resize(1);
  without_roles.timing.reset();  // a recorded time would be held
  static_cast<void>(try_out());
  const et_schema::Coverage coverage = decisions_->coverage();
  ASSERT_EQ(coverage.dropped.size(), 1U);
  EXPECT_EQ(coverage.dropped[0].note,
            "a compiled kernel: a benchmark does not hold its code; "
            "rank-R.compiled.json of a capture does");
}

}  // namespace
}  // namespace understudy::replayer
