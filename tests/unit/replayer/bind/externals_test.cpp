#include "replayer/bind/externals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "fixture.h"
#include "replayer/memory/memory.h"

namespace understudy::replayer::testing {
namespace {

constexpr const char* kIndexAdd =
    "aten::index_add_(Tensor(a!) self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> "
    "Tensor(a!)";
constexpr std::int64_t kRows = 8;

/// A step that writes row 5 of a state, which had zeros in the original.
class ZerosTest : public ReplayerTest {
 protected:
  /// Which rows are zero once the zeros are found.
  std::vector<bool> zero_rows(double share) {
    state_ = builder_.external(DType::kFloat32, {kRows, 4}, constant(2));
    const SlotId index = builder_.external(DType::kInt64, {1}, constant(5));
    const SlotId source = builder_.external(DType::kFloat32, {1, 4}, constant(1));
    builder_.add_op(kIndexAdd, {ref(state_), number(0), ref(index), ref(source), number(1)},
                    {ref(state_)});
    builder_.program().storages[builder_.slot(state_).storage].zeros = share;
    try_out();
    externals_->restore();
    externals_->place(machine_->slots(), machine_->given());
    externals_->remember(result_.program);
    externals_->draw_variants();
    EXPECT_EQ(externals_->begin_zeros(), share > 0);
    for (std::size_t i = 0; i < Externals::kVariants; ++i) {
      machine_->run(result_.program);
    }
    externals_->settle_zeros();
    return now_zero();
  }
  std::vector<bool> now_zero() {
    std::vector<bool> zero;
    for (std::int64_t row = 0; row < kRows; ++row) {
      const float first = slot(state_)[row][0].item<float>();
      EXPECT_TRUE(slot(state_)[row].eq(first).all().item<bool>()) << row;
      EXPECT_TRUE(first == 0 || first == 2) << first;
      zero.push_back(first == 0);
    }
    return zero;
  }
  SlotId state_ = 0;
};

TEST_F(ZerosTest, LieWhereTheStepWritesNothing) {
  EXPECT_EQ(zero_rows(1), (std::vector<bool>{true, true, true, true, true, false, true, true}));
}

TEST_F(ZerosTest, AreAsManyAsInTheOriginal) {
  const std::vector<bool> zero = zero_rows(0.5);
  EXPECT_EQ(std::count(zero.begin(), zero.end(), true), kRows / 2);
  EXPECT_FALSE(zero[5]);
}

TEST_F(ZerosTest, ComeBackWithTheFirstContent) {
  const std::vector<bool> zero = zero_rows(0.75);
  machine_->run(result_.program);
  externals_->restore();
  EXPECT_EQ(now_zero(), zero);
}

TEST_F(ZerosTest, NoneWhereTheOriginalHadNone) {
  EXPECT_EQ(zero_rows(0), std::vector<bool>(kRows, false));
}

using DefaultsTest = ReplayerTest;

TEST_F(DefaultsTest, AWeightHasItsOwnFanInNotItsTransposedViews) {
  constexpr std::int64_t kInputs = 1024;
  const SlotId weight = builder_.external(DType::kFloat32, {1, kInputs}, constant(0));
  const SlotId turned = builder_.view(weight, {kInputs, 1}, {1, kInputs}, 0);
  for (const SlotId layout : {weight, turned}) {
    builder_.slot(layout).external = true;
    builder_.slot(layout).value.reset();
  }
  keep(weight, sink(DType::kFloat32, {1, kInputs}));
  keep(turned, sink(DType::kFloat32, {kInputs, 1}));
  try_out();
  EXPECT_NEAR(slot(weight).std().item<double>(), 1.0 / 32, 0.005);
  externals_->restore();
  EXPECT_NEAR(slot(weight).std().item<double>(), 1.0 / 32, 0.005);
}

TEST_F(DefaultsTest, AWeightThatIsMetFlatFirstHasTheFanInOfItsMatrix) {
  constexpr std::int64_t kInputs = 64;
  const SlotId flat = builder_.external(DType::kFloat32, {16 * kInputs}, constant(0));
  const SlotId weight = builder_.view(flat, {16, kInputs}, {kInputs, 1}, 0);
  for (const SlotId layout : {flat, weight}) {
    builder_.slot(layout).external = true;
    builder_.slot(layout).value.reset();
  }
  keep(flat, sink(DType::kFloat32, {16 * kInputs}));
  keep(weight, sink(DType::kFloat32, {16, kInputs}));
  try_out();
  EXPECT_NEAR(slot(weight).std().item<double>(), 1.0 / 8, 0.02);
  EXPECT_NEAR(slot(weight).mean().item<double>(), 0, 0.02);
}

using DrawsTest = ReplayerTest;

TEST_F(DrawsTest, TakeTurnsInMemoryThatHasWaited) {
  constexpr std::int64_t kIndices = 64;
  const SlotId state = builder_.external(DType::kFloat32, {kRows, 4}, constant(2));
  const et_schema::ValueRule rows{et_schema::ValueRule::Integers{.high = kRows - 1}};
  const SlotId index = builder_.external(DType::kInt64, {kIndices}, rows);
  const SlotId source = builder_.external(DType::kFloat32, {kIndices, 4}, constant(1));
  builder_.add_op(kIndexAdd, {ref(state), number(0), ref(index), ref(source), number(1)},
                  {ref(state)});
  try_out();
  externals_->restore();
  externals_->place(machine_->slots(), machine_->given());
  externals_->remember(result_.program);
  externals_->draw_variants();
  const at::Tensor& indices = slot(index);
  std::vector<at::Tensor> contents;
  std::set<const void*> addresses;
  constexpr std::size_t kDraws = 4;
  for (std::size_t i = 0; i < 2 * kDraws; ++i) {
    externals_->vary(i);
    contents.push_back(indices.clone());
    addresses.insert(indices.const_data_ptr());
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      EXPECT_EQ(contents[earlier].equal(contents[i]), earlier + kDraws == i) << earlier << " " << i;
    }
  }
  EXPECT_EQ(addresses.size(), kDraws);
}

class UntouchedTest : public ReplayerTest {};

TEST_F(UntouchedTest, IsHeldAsMemoryOfTheReplay) {
  count_cpu_allocations();
  constexpr std::int64_t kBytes = 1 << 20;
  builder_.program().storages.push_back(
      {.device = {}, .bytes = kBytes, .external = true, .untouched = true});
  const std::uint64_t before = cpu_allocations().live_bytes;
  {
    const Externals externals(builder_.program(), c10::kCPU, 1);
    EXPECT_GE(cpu_allocations().live_bytes, before + kBytes);
    EXPECT_EQ(externals.touched_bytes(), static_cast<std::uint64_t>(kBytes));
  }
  EXPECT_EQ(cpu_allocations().live_bytes, before);
}

}  // namespace
}  // namespace understudy::replayer::testing
