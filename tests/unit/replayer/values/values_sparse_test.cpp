#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "replayer/values/values.h"

namespace understudy::replayer {
namespace {

using et_schema::SparseLayout;

constexpr std::int64_t kRows = 50;
constexpr std::int64_t kColumns = 30;
constexpr std::int64_t kElements = 120;

et_schema::ValueRule integers_below(std::int64_t high) {
  return {et_schema::ValueRule::Integers{.high = high}};
}

et_schema::Slot matrix(SparseLayout layout, bool coalesced) {
  et_schema::Slot slot;
  slot.dtype = et_schema::DType::kFloat32;
  slot.sizes = {kRows, kColumns};
  slot.sparse = true;
  slot.external = true;
  slot.content = {layout, kElements, coalesced, {integers_below(kRows), integers_below(kColumns)}};
  return slot;
}

at::Tensor make(const et_schema::Slot& slot) {
  return make_sparse(slot, at::TensorOptions().dtype(at::kFloat), {7, 3});
}

TEST(MakeSparse, HasAsManyElementsInsideOfItsSizes) {
  const at::Tensor made = make(matrix(SparseLayout::kCoo, false));
  EXPECT_EQ(made.sizes(), (std::vector<std::int64_t>{kRows, kColumns}));
  EXPECT_EQ(made._nnz(), kElements);
  EXPECT_FALSE(made.is_coalesced());
  EXPECT_GT(made._indices()[0].max().item<std::int64_t>(), kColumns);
  EXPECT_FALSE(made._indices()[0].slice(0, 0, 30).equal(made._indices()[1].slice(0, 0, 30)));
  EXPECT_GT(made._values().std().item<double>(), 0.1);
  EXPECT_TRUE(make(matrix(SparseLayout::kCoo, false))._indices().equal(made._indices()));
}

TEST(MakeSparse, ACoalescedOneHasEachPlaceOnce) {
  const at::Tensor made = make(matrix(SparseLayout::kCoo, true));
  EXPECT_TRUE(made.is_coalesced());
  EXPECT_LE(made._nnz(), kElements);
  EXPECT_GE(made._nnz(), kElements * 9 / 10);
}

TEST(MakeSparse, RowsAndColumnsCompressed) {
  EXPECT_EQ(make(matrix(SparseLayout::kCsr, true)).layout(), at::kSparseCsr);
  EXPECT_EQ(make(matrix(SparseLayout::kCsc, false)).layout(), at::kSparseCsc);
}

TEST(MakeSparse, DenseDimensionsBehindTheSparseOnes) {
  et_schema::Slot slot = matrix(SparseLayout::kCoo, false);
  slot.content->indices.pop_back();
  const at::Tensor made = make(slot);
  EXPECT_EQ(made._values().sizes(), (std::vector<std::int64_t>{kElements, kColumns}));
}

TEST(MakeSparse, WithoutContentItIsEmpty) {
  et_schema::Slot slot = matrix(SparseLayout::kCoo, false);
  slot.content.reset();
  EXPECT_EQ(make(slot)._nnz(), 0);
}

}  // namespace
}  // namespace understudy::replayer
