// The general sweep: what its points are drawn from, and within which limits.

#include "replayer/calibrator/design/area.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "et_schema/model/op_class.h"
#include "et_schema/model/slot_extent.h"
#include "replayer/calibrator/design/recipe.h"

namespace understudy::calibrator {
namespace {

std::vector<Call> points_of(const Area& area, std::size_t count) {
  std::vector<Call> points;
  for (std::uint64_t i = 0; points.size() < count && i < 100 * count; ++i) {
    if (auto point = area.at(i)) {
      points.push_back(std::move(*point));
    }
  }
  return points;
}

TEST(Area, EveryRecipeHasPointsWithinTheLimits) {
  const CallLimits limits{.bytes = std::int64_t{8} << 20U, .work = 1e8};
  for (const Area& area : make_areas("", limits)) {
    const std::vector<Call> points = points_of(area, 5);
    EXPECT_EQ(points.size(), 5U);
    for (const Call& point : points) {
      EXPECT_LE(tensor_bytes(point), limits.bytes) << to_text(point);
    }
  }
}

TEST(Area, SizesAreDrawnEvenlyInTheirLogarithm) {
  const Area area({"aten::relu", "n:1..1048576", "{n}"}, {});
  std::map<int, int> octaves;
  for (const Call& point : points_of(area, 400)) {
    const std::int64_t n = point.tensors[0].layout.sizes[0];
    EXPECT_GE(n, 1);
    EXPECT_LE(n, 1'048'576);
    ++octaves[static_cast<int>(std::log2(static_cast<double>(n))) / 5];
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_GE(octaves[i], 70) << "octaves from " << 5 * i;
  }
}

TEST(Area, FourOfFivePointsAreFloat32AndHalfOfTheLayoutsPlain) {
  const Area area({"aten::mm", "m:2..512 k:2..512 n:2..512", "{m,k}' {k,n}'"}, {});
  std::map<et_schema::DType, int> dtypes;
  int plain = 0;
  for (const Call& point : points_of(area, 500)) {
    const et_schema::Slot& self = point.tensors[0].layout;
    ++dtypes[self.dtype];
    plain += self.strides == et_schema::contiguous_strides(self.sizes) ? 1 : 0;
  }
  EXPECT_NEAR(dtypes[et_schema::DType::kFloat32], 400, 25);
  EXPECT_NEAR(dtypes[et_schema::DType::kBFloat16], 65, 20);
  EXPECT_NEAR(dtypes[et_schema::DType::kFloat64], 35, 15);
  EXPECT_NEAR(plain, 250, 40);
}

TEST(Area, OfAGpuIsLargerAndHalfOfItBFloat16) {
  const Area area({.op = "aten::mm",
                   .dims = "m:1..65536 k:1..65536 n:1..65536",
                   .args = "{m,k} {k,n}",
                   .work = "m*k*n"},
                  kGpuLimits);
  const std::vector<Call> points = points_of(area, 400);
  ASSERT_EQ(points.size(), 400U);
  std::size_t halves = 0;
  std::int64_t most_bytes = 0;
  for (const Call& point : points) {
    halves += point.tensors[0].layout.dtype == et_schema::DType::kBFloat16 ? 1U : 0U;
    most_bytes = std::max(most_bytes, tensor_bytes(point));
    const std::vector<std::int64_t>& left = point.tensors[0].layout.sizes;
    const std::int64_t columns = point.tensors[1].layout.sizes[1];
    EXPECT_LE(static_cast<double>(left[0] * left[1] * columns), kGpuLimits.work) << to_text(point);
  }
  EXPECT_NEAR(static_cast<double>(halves), 200, 20);
  EXPECT_LE(most_bytes, kGpuLimits.bytes);
  EXPECT_GT(most_bytes, CallLimits{}.bytes);
}

TEST(Area, EndsWithItsLastCallThatDiffers) {
  Area area({"aten::relu", "n:1|2", "{n}"}, {.float32 = 1});
  std::set<std::string> texts;
  while (const std::optional<Call> call = area.next()) {
    EXPECT_TRUE(texts.insert(to_text(*call)).second);
  }
  EXPECT_EQ(texts, (std::set<std::string>{"aten::relu(float32[1])", "aten::relu(float32[2])"}));
}

TEST(Area, OneClassAlone) {
  for (const Area& area : make_areas("softmax", {})) {
    EXPECT_EQ(et_schema::op_class(points_of(area, 1).front().schema), "softmax");
  }
  const std::vector<std::string> classes = area_classes();
  for (const char* name :
       {"attention", "convolution", "copy", "elementwise", "embedding", "index", "matmul",
        "normalization", "optimizer", "reduction", "softmax", "sort", "view"}) {
    EXPECT_NE(std::ranges::find(classes, name), classes.end()) << name;
  }
}

TEST(Area, ForwardOperatorsHaveTheirBackwards) {
  std::set<std::string_view> names;
  for (const Recipe& recipe : recipes()) {
    names.insert(recipe.op);
  }
  for (const char* name : {"aten::convolution_backward", "aten::native_layer_norm_backward",
                           "aten::native_batch_norm_backward", "aten::_log_softmax_backward_data",
                           "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
                           "aten::_embedding_bag_backward", "aten::embedding_dense_backward",
                           "aten::gelu_backward", "aten::threshold_backward",
                           "aten::max_pool2d_with_indices_backward", "aten::nll_loss_backward"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

}  // namespace
}  // namespace understudy::calibrator
