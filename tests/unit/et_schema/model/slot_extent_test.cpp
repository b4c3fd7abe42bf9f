// How much of its storage a slot reaches over.

#include "et_schema/model/slot_extent.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace understudy::et_schema {
namespace {

Slot slot_of(std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides,
             std::int64_t offset = 0) {
  Slot slot;
  slot.dtype = DType::kInt16;
  slot.sizes = std::move(sizes);
  slot.strides = std::move(strides);
  slot.offset = offset;
  return slot;
}

TEST(SlotExtents, ReachFromTheFirstElementToBehindTheLast) {
  EXPECT_EQ(extent_elements(slot_of({}, {})), 1) << "a number";
  EXPECT_EQ(extent_elements(slot_of({3, 4}, {4, 1})), 12);
  EXPECT_EQ(extent_elements(slot_of({3, 4}, {1, 3})), 12) << "transposed";
  EXPECT_EQ(extent_elements(slot_of({3, 4}, {10, 2})), 2 * 10 + 3 * 2 + 1) << "some left out";
  EXPECT_EQ(extent_elements(slot_of({3, 4}, {1, 0})), 3) << "some repeated";
  EXPECT_EQ(extent_elements(slot_of({1, 4}, {1000, 1})), 4) << "one element takes no step";
}

TEST(SlotExtents, TheOffsetCountsFromTheStoragesBeginning) {
  const Slot slot = slot_of({3, 4}, {4, 1}, 5);
  EXPECT_EQ(extent_elements(slot), 12);
  EXPECT_EQ(extent_bytes(slot), (5 + 12) * 2);
}

TEST(SlotExtents, WithoutElementsTheyAreNothingWhereverTheyLie) {
  EXPECT_EQ(extent_elements(slot_of({3, 0}, {4, 1}, 5)), 0);
  EXPECT_EQ(extent_bytes(slot_of({3, 0}, {4, 1}, 5)), 0);
  EXPECT_EQ(extent_bytes(slot_of({0, 3}, {4, 1}, 5)), 0);
}

TEST(SlotExtents, ADimensionWithoutAStrideRepeats) {
  EXPECT_EQ(extent_elements(slot_of({3, 4}, {})), 1) << "a sparse tensor's";
  EXPECT_EQ(extent_elements(slot_of({3, 4}, {2})), 5);
  EXPECT_EQ(extent_elements(slot_of({3, 0}, {})), 0);
}

}  // namespace
}  // namespace understudy::et_schema
