// What docs/metrics.md, "Stubs", says a stub does.

#include "stub.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "fixture.h"
#include "replayer/substitutes/find_substitute.h"
#include "replayer/values/values.h"

namespace understudy::replayer::testing {
namespace {

using torch::jit::Stack;

class StubTest : public ReplayerTest {
 protected:
  /// A kernel's call; what it is given stands among the results too where it writes it.
  Instruction& add_kernel(std::vector<Argument> args, std::vector<Argument> results) {
    Instruction kernel;
    kernel.kind = InstructionKind::kKernel;
    kernel.node_id = 7;
    kernel.name = "triton_poi_fused_add_0";
    kernel.args = std::move(args);
    kernel.results = std::move(results);
    return builder_.add(std::move(kernel));
  }
  Stack call(const Instruction& instruction, Stack stack) {
    make_stub(builder_.program(), instruction, c10::kCPU, "a test").call(stack);
    return stack;
  }
};

TEST_F(StubTest, WritesFreshResultsWithHealthyValuesOfTheirKind) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId real = builder_.intermediate(DType::kFloat32, {100, 70});
  const SlotId half = builder_.intermediate(DType::kFloat16, {30, 20});
  const SlotId index = builder_.intermediate(DType::kInt64, {50});
  const SlotId mask = builder_.intermediate(DType::kBool, {9});
  const SlotId turned = builder_.intermediate(DType::kFloat32, {6, 5});
  builder_.slot(turned).strides = {1, 6};
  const Instruction& kernel = add_kernel(
      {ref(x)}, {ref(real), ref(half), ref(index), ref(mask), undefined(), list({ref(turned)})});
  const Stack made = call(kernel, {at::ones({4})});
  ASSERT_EQ(made.size(), 6U);
  const at::Tensor& reals = made[0].toTensor();
  EXPECT_EQ(reals.sizes(), at::IntArrayRef({100, 70}));
  EXPECT_NEAR(reals.std().item<double>(), 1 / std::sqrt(70.0), 0.02);
  EXPECT_EQ(scan(reals), ValueHealth());
  EXPECT_TRUE(reals[99].ne(0).any().item<bool>()) << "to the end";
  EXPECT_EQ(made[1].toTensor().scalar_type(), at::kHalf);
  EXPECT_EQ(scan(made[1].toTensor()), ValueHealth());
  EXPECT_TRUE(made[2].toTensor().eq(0).all().item<bool>()) << "valid as an index everywhere";
  EXPECT_TRUE(made[3].toTensor().all().item<bool>());
  EXPECT_FALSE(made[4].toTensor().defined());
  EXPECT_EQ(made[5].toTensorList().get(0).strides(), at::IntArrayRef({1, 6}));
}

TEST_F(StubTest, AResultWithARuleHoldsItToTheEnd) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId starts = builder_.intermediate(DType::kInt64, {5000});
  using et_schema::ValueRule;
  builder_.slot(starts).value = ValueRule{ValueRule::Offsets{.end = 10000, .include_last = true}};
  const Stack made = call(add_kernel({ref(x)}, {ref(starts)}), {at::ones({4})});
  EXPECT_EQ(made[0].toTensor()[4999].item<std::int64_t>(), 10000);
  EXPECT_TRUE(made[0].toTensor().diff().ge(0).all().item<bool>());
}

TEST_F(StubTest, WritesArgumentsInPlaceWithTheirValues) {
  const SlotId x = builder_.external(DType::kFloat32, {300}, constant(1));
  const SlotId y = builder_.external(DType::kBool, {3}, constant(1));
  const Instruction& kernel = add_kernel({list({ref(y), ref(x)}), number(3)}, {ref(x), ref(y)});
  const at::Tensor values = at::randn({300});
  const at::Tensor before = values.clone();
  const at::Tensor flags = at::ones({3}, at::kBool);
  const Stack made = call(kernel, {c10::List<at::Tensor>({flags, values}), std::int64_t{3}});
  EXPECT_TRUE(made[0].toTensor().is_same(values));
  EXPECT_TRUE(values.equal(before));
  EXPECT_TRUE(made[1].toTensor().is_same(flags));
}

TEST_F(StubTest, TensorsWithoutBytesAreNoTrouble) {
  const SlotId x = builder_.external(DType::kFloat32, {0, 3}, constant(1));
  const SlotId y = builder_.intermediate(DType::kFloat32, {3, 0});
  const Instruction& kernel = add_kernel({ref(x), undefined(), none()}, {ref(y), ref(x)});
  const at::Tensor sparse = at::ones({2, 2}).to_sparse();
  read_bytes(sparse);
  rewrite_bytes(sparse);
  EXPECT_EQ(sparse._values().sum().item<float>(), 4.0F);
  read_bytes(at::empty({4}, at::device(at::kMeta)));
  read_bytes(at::ones({1}).expand({1000}));
  EXPECT_EQ(call(kernel, {at::empty({0, 3}), at::Tensor(), c10::IValue()})[0].toTensor().numel(),
            0);
}

TEST_F(StubTest, LastsAsLongAsTheWorkDidInTheOriginal) {
  Instruction timed;
  timed.timing.emplace();
  timed.timing->host_ns = 1000;
  EXPECT_EQ(recorded_work_ns(timed, c10::DeviceType::CPU), 1000);
  timed.timing->device_ns = 70000;
  EXPECT_EQ(recorded_work_ns(timed, c10::DeviceType::CPU), 70000);
  EXPECT_EQ(recorded_work_ns(timed, c10::DeviceType::CUDA), 1000);
  EXPECT_EQ(recorded_work_ns(Instruction(), c10::DeviceType::CPU), std::nullopt);

  constexpr std::int64_t kDurationNs = 3000000;
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  Instruction& kernel = add_kernel({ref(x)}, {ref(x)});
  kernel.timing.emplace();
  kernel.timing->host_ns = kDurationNs;
  const auto begin = std::chrono::steady_clock::now();
  static_cast<void>(call(kernel, {at::ones({4})}));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::nanoseconds(kDurationNs));
}

TEST_F(StubTest, TableStubsLastToo) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  Instruction& reduction = builder_.add_op(
      "symm_mem::two_shot_all_reduce_(Tensor(a!) input, str reduce_op, str group_name) -> "
      "Tensor(a!)",
      {ref(x), {std::string("sum")}, {std::string("0")}}, {ref(x)});
  reduction.timing.emplace();
  reduction.timing->host_ns = 2000000;
  const auto stub = find_substitute(builder_.program(), reduction, c10::kCPU);
  ASSERT_TRUE(stub.has_value());
  EXPECT_EQ(stub->rung, Rung::kStubbed);
  EXPECT_EQ(stub->by, "its input read and written in place");
  Stack stack{at::ones({4}), "sum", "0"};
  const auto begin = std::chrono::steady_clock::now();
  stub->call(stack);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(2));
}

TEST_F(StubTest, AKernelWhoseOutputsAreKnownIsStubbedAndNeverReplayed) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(3));
  const SlotId y = builder_.intermediate(DType::kFloat32, {4});
  const SlotId out = sink(DType::kFloat32, {4});
  add_kernel({ref(x), number(4)}, {ref(y)});
  add_kernel({ref(x), number(4)}, {});
  keep(y, out);
  try_out();
  const et_schema::Coverage coverage = decisions_->coverage();
  ASSERT_EQ(coverage.stubbed.size(), 1U);
  EXPECT_EQ(coverage.stubbed[0].name, "triton_poi_fused_add_0");
  EXPECT_EQ(coverage.stubbed[0].note, "its inputs read, its outputs written");
  ASSERT_EQ(coverage.dropped.size(), 1U);
  EXPECT_EQ(coverage.dropped[0].note,
            "a compiled kernel: a benchmark does not hold its code; "
            "rank-R.compiled.json of a capture does");
  EXPECT_EQ(coverage.replayed, 1U);
  EXPECT_TRUE(slot(out).ge(0.5).all().item<bool>());
}

}  // namespace
}  // namespace understudy::replayer::testing
