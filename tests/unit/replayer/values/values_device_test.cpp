// Contents and scans that a device makes itself, on its twin, the CPU.

#include "values_device.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <limits>

namespace understudy::replayer {
namespace {

using Rule = et_schema::ValueRule;

at::Generator generator() {
  return at::detail::createCPUGenerator(7);
}

constexpr at::ScalarType kFloats[] = {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16};

TEST(DeviceFill, DrawsWhatTheRuleSays) {
  for (const at::ScalarType dtype : kFloats) {
    at::Tensor tensor = at::full({100, 1000}, 3, dtype);
    ASSERT_TRUE(fill_on_device(tensor, {Rule::Normal{0, 0.125}}, generator()));
    EXPECT_NEAR(tensor.to(at::kDouble).mean().item<double>(), 0, 0.002) << dtype;
    EXPECT_NEAR(tensor.to(at::kDouble).std().item<double>(), 0.125, 0.002) << dtype;
    EXPECT_EQ(scan(tensor), ValueHealth{}) << dtype;
    ASSERT_TRUE(fill_on_device(tensor, {Rule::Uniform{0.5, 1}}, generator()));
    EXPECT_GE(tensor.min().item<double>(), 0.5) << dtype;
    EXPECT_LE(tensor.max().item<double>(), 1) << dtype;
    ASSERT_TRUE(fill_on_device(tensor, {Rule::Constant{2}}, generator()));
    EXPECT_TRUE(tensor.eq(2).all().item<bool>());
    ASSERT_TRUE(fill_on_device(tensor, {Rule::Zeros{}}, generator()));
    EXPECT_TRUE(tensor.eq(0).all().item<bool>());
  }
}

TEST(DeviceFill, EqualGeneratorsGiveEqualContent) {
  at::Tensor a = at::empty({999});
  at::Tensor b = at::empty({999});
  ASSERT_TRUE(fill_on_device(a, {Rule::Normal{0, 1}}, generator()));
  ASSERT_TRUE(fill_on_device(b, {Rule::Normal{0, 1}}, generator()));
  EXPECT_TRUE(at::equal(a, b));
}

TEST(DeviceFill, LeavesIndicesAndOtherLayoutsToTheHost) {
  at::Tensor integers = at::ones({4}, at::kLong);
  EXPECT_FALSE(fill_on_device(integers, {Rule::Zeros{}}, generator()));
  at::Tensor floats = at::ones({4, 4});
  EXPECT_FALSE(fill_on_device(floats, {Rule::Integers{}}, generator()));
  EXPECT_FALSE(fill_on_device(floats.slice(1, 0, 2), {Rule::Zeros{}}, generator()));
  EXPECT_TRUE(floats.eq(1).all().item<bool>());
}

TEST(DeviceFill, DrawsWithoutHolesInAnyOrderOfDimensions) {
  for (const at::Tensor& tensor :
       {at::zeros({3, 5}).t(),
        at::zeros({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast)}) {
    ASSERT_TRUE(fill_on_device(tensor, {Rule::Uniform{0.5, 1}}, generator()));
    EXPECT_GE(tensor.min().item<double>(), 0.5);
  }
}

TEST(DeviceScan, SeesWhatTheHostsScanSees) {
  using Limits = std::numeric_limits<double>;
  for (const at::ScalarType dtype : kFloats) {
    const double tiny = dtype == at::kHalf     ? 1e-6
                        : dtype == at::kDouble ? Limits::denorm_min()
                                               : 1e-39;
    for (const double value : {0.0, -0.0, 1.0, -2.5, Limits::quiet_NaN(), Limits::infinity(),
                               -Limits::infinity(), tiny, -tiny}) {
      at::Tensor tensor = at::ones({33, 7}, dtype);
      tensor[20][3] = value;
      ValueHealth expected = scan(tensor);
      expected.subnormal = false;  // no GPU is slower for them
      EXPECT_EQ(scan_on_device(tensor), expected) << dtype << " " << value;
      EXPECT_EQ(scan_on_device(tensor.t()), expected) << dtype << " " << value;
    }
  }
}

TEST(DeviceScan, KnowsEachCodeOfOneByte) {
  for (const at::ScalarType dtype : {at::kFloat8_e5m2, at::kFloat8_e4m3fn, at::kFloat8_e5m2fnuz,
                                     at::kFloat8_e4m3fnuz, at::kFloat8_e8m0fnu}) {
    int unhealthy = 0;
    for (int code = 0; code < 256; ++code) {
      const at::Tensor tensor = at::full({33, 7}, 0x38, at::kByte);
      tensor[20][3] = code;
      const ValueHealth expected = scan(tensor.view(dtype));
      unhealthy += expected == ValueHealth{} ? 0 : 1;
      EXPECT_EQ(scan_on_device(tensor.view(dtype)), expected) << dtype << " " << code;
    }
    EXPECT_GT(unhealthy, 0) << dtype;
  }
}

TEST(DeviceScan, OfOtherTypesAndLayoutsTellsNothing) {
  EXPECT_EQ(scan_on_device(at::ones({4}, at::kInt)), std::nullopt);
  EXPECT_EQ(scan_on_device(at::ones({4}, at::kComplexFloat)), std::nullopt);
  EXPECT_EQ(scan_on_device(at::ones({4, 4}).slice(1, 0, 2)), std::nullopt);
}

}  // namespace
}  // namespace understudy::replayer
