// What sparse tensors hold, told by the program around them.

#include "et_schema/model/sparse_content.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace understudy::et_schema {
namespace {

using Sizes = std::vector<std::int64_t>;

class SparseContents : public testing::Test {
 protected:
  SlotId dense(Sizes sizes) {
    program_.storages.emplace_back();
    Slot& slot = program_.slots.emplace_back();
    slot.storage = static_cast<StorageId>(program_.storages.size() - 1);
    slot.dtype = DType::kInt64;
    slot.sizes = std::move(sizes);
    return static_cast<SlotId>(program_.slots.size() - 1);
  }
  SlotId sparse(Sizes sizes) {
    const SlotId slot = dense(std::move(sizes));
    program_.slots[slot].sparse = true;
    return slot;
  }
  void add(std::string name, const std::vector<SlotId>& args, SlotId result) {
    Instruction& instruction = program_.instructions.emplace_back();
    instruction.name = std::move(name);
    for (const SlotId argument : args) {
      instruction.args.emplace_back().value = Argument::SlotRef{argument};
    }
    instruction.results.emplace_back().value = Argument::SlotRef{result};
  }
  /// -1: nothing tells.
  [[nodiscard]] std::int64_t elements(SlotId slot) const {
    const auto content = sparse_content(program_, slot);
    return content ? content->elements : -1;
  }
  [[nodiscard]] std::int64_t stored(SlotId slot) const {
    return stored_values(program_.slots[slot], sparse_content(program_, slot).value());
  }

  Program program_;
};

TEST_F(SparseContents, AsManyElementsAsIndicesItIsMadeOf) {
  const SlotId gradient = sparse({1000, 16});
  add("aten::sparse_coo_tensor.indices_size", {dense({1, 70}), dense({70, 16})}, gradient);
  EXPECT_EQ(elements(gradient), 70);
  EXPECT_EQ(stored(gradient), 70 * 16);
  const SlotId matrix = sparse({30, 40});
  add("aten::_sparse_coo_tensor_unsafe", {dense({2, 90}), dense({90})}, matrix);
  EXPECT_EQ(elements(matrix), 90);
  EXPECT_EQ(stored(matrix), 90) << "both dimensions are sparse";
}

TEST_F(SparseContents, ALookupsGradientHasOneForEachIndex) {
  const SlotId gradient = sparse({1000, 16});
  add("aten::embedding_sparse_backward", {dense({5, 8, 16}), dense({5, 8})}, gradient);
  EXPECT_EQ(elements(gradient), 40);
}

TEST_F(SparseContents, ACoalescedOneHasWhatItIsTakenApartToElseWhatItWasMadeOf) {
  const SlotId gradient = sparse({1000, 16});
  add("aten::_sparse_coo_tensor_unsafe", {dense({1, 70}), dense({70, 16})}, gradient);
  const SlotId coalesced = sparse({1000, 16});
  add("aten::coalesce", {gradient}, coalesced);
  EXPECT_EQ(elements(coalesced), 70);
  add("aten::_indices", {coalesced}, dense({1, 50}));
  EXPECT_EQ(elements(coalesced), 50);
  EXPECT_EQ(elements(gradient), 70);
}

TEST_F(SparseContents, IndicesOfAnExternalHaveItsRule) {
  const SlotId indices = dense({1, 70});
  const ValueRule rule{ValueRule::Integers{.high = 900}};
  program_.slots[indices].value = rule;
  const SlotId gradient = sparse({1000, 16});
  add("aten::_sparse_coo_tensor_unsafe", {indices, dense({70, 16})}, gradient);
  EXPECT_EQ(sparse_content(program_, gradient).value().indices.at(0), rule);
}

TEST_F(SparseContents, NothingIsKnownWhereNothingTells) {
  const SlotId unknown = sparse({30, 40});
  const SlotId result = sparse({30, 40});
  add("aten::mul.Tensor", {unknown, dense({30, 40})}, result);
  EXPECT_EQ(elements(unknown), -1);
  EXPECT_EQ(elements(result), -1);
  EXPECT_EQ(elements(dense({3})), -1) << "it is not sparse";
  program_.slots[unknown].content = SparseContent{SparseLayout::kCoo, 7, false, {}};
  EXPECT_EQ(elements(result), 7);
}

TEST_F(SparseContents, TensorsMadeOfEachOtherTellNothing) {
  const SlotId one = sparse({3});
  const SlotId other = sparse({3});
  add("aten::mul.Tensor", {one}, other);
  add("aten::mul.Tensor", {other}, one);
  EXPECT_EQ(elements(one), -1);
}

TEST_F(SparseContents, SizesThatNoTensorHasDoNotOverflow) {
  const std::int64_t huge = std::int64_t{1} << 62;
  const SlotId gradient = sparse({1000, huge});
  add("aten::_sparse_coo_tensor_unsafe", {dense({1, huge}), dense({huge, huge})}, gradient);
  EXPECT_EQ(stored(gradient), 9'000'000'000'000'000'000);
}

}  // namespace
}  // namespace understudy::et_schema
