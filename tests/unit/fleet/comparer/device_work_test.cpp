#include "fleet/comparer/device_work.h"

#include <gtest/gtest.h>

namespace understudy::comparer {
namespace {

DeviceStep step(std::vector<DeviceWork> work) {
  return {"p.json.gz", "a card", 10, 5, 0.5, std::move(work)};
}

TEST(DeviceWork, JoinsByCallAndKeepsWhatOneSideHas) {
  const DeviceComparison comparison =
      compare_devices(step({{"aten::mm a", "matmul", "cutlass", 2, 3},
                            {"aten::mm a", "matmul", "split", 2, 1},
                            {"aten::add a", "elementwise", "add", 1, 0.5},
                            {"aten::old a", "other", "old", 1, 2}}),
                      step({{"aten::mm a", "matmul", "Cijk", 2, 7},
                            {"aten::add a", "elementwise", "add", 1, 0.25},
                            {"aten::new a", "other", "new", 4, 0.125}}));
  ASSERT_EQ(comparison.calls.size(), 4U);
  EXPECT_EQ(comparison.calls[0].name, "aten::mm a") << "it causes most of the difference";
  EXPECT_EQ(comparison.calls[0].a_ms, 4);
  EXPECT_EQ(comparison.calls[0].b_ms, 7);
  EXPECT_EQ(comparison.calls[0].a_launches, 4);
  EXPECT_EQ(comparison.calls[1].name, "aten::old a");
  EXPECT_EQ(comparison.calls[1].b_ms, std::nullopt);
  EXPECT_EQ(comparison.calls[3].a_ms, std::nullopt);
  EXPECT_EQ(comparison.classes.size(), 3U);
  EXPECT_EQ(comparison.kernels.size(), 6U) << "cutlass, split, Cijk, add, old, new";
  EXPECT_EQ(comparison.kernels[0].name, "Cijk");
  EXPECT_EQ(comparison.kernels[0].call, "aten::mm a");
  EXPECT_EQ(comparison.all.a_ms, 6.5);
  EXPECT_EQ(comparison.all.b_ms, 7.375);
  EXPECT_EQ(comparison.shared.a_ms, 4.5);
  EXPECT_EQ(comparison.shared.b_ms, 7.25);
}

TEST(DeviceWork, OfNothingInCommonIsAllOnOneSide) {
  const DeviceComparison comparison =
      compare_devices(step({{"a", "matmul", "x", 1, 3}}), step({{"b", "matmul", "y", 1, 4}}));
  EXPECT_EQ(comparison.shared.a_ms, 0);
  EXPECT_EQ(comparison.shared.b_ms, 0);
  EXPECT_EQ(comparison.all.a_ms, 3);
  ASSERT_EQ(comparison.classes.size(), 1U);
  EXPECT_EQ(comparison.classes[0].change_ms(), 1);
}

}  // namespace
}  // namespace understudy::comparer
