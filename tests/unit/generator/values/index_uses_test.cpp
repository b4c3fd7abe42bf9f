// What was recorded of index values reaches the tensors that they come from.

#include <gtest/gtest.h>

#include "generator/flow/model_names.h"
#include "trace_builder.h"

namespace understudy::generator::test {
namespace {

constexpr const char* kSelect = "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor";
constexpr const char* kGather =
    "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor";

const Reuse kRowReuse = {{{0, 9, {{3, 1}, {1, 3}}}}, 1, false};

std::uint64_t embed(TraceBuilder& builder, const TestValue& indices) {
  const std::uint64_t node =
      builder.add(2, "aten::embedding", kEmbedding,
                  {tensor(30, 31, {50, 8}), indices, integer(-1), integer(0), integer(0)},
                  {tensor(32, 33, {6, 8})});
  // What an operator calls the recorder does not see.
  builder.add(node, "aten::index_select", kSelect, {tensor(30, 31, {50, 8}), integer(0), indices},
              {tensor(32, 33, {6, 8})});
  return node;
}

Trace with_uses(const TraceBuilder& builder, std::map<std::string, std::uint64_t> calls,
                std::vector<et_schema::IndexUse> uses) {
  Trace trace = builder.trace();
  trace.index_uses.calls = std::move(calls);
  trace.index_uses.uses = std::move(uses);
  return trace;
}

Program compile(Trace trace) {
  std::vector<Trace> traces;
  traces.push_back(std::move(trace));
  return generate(traces, {}).programs.front();
}

TEST(IndexUses, ReachTheTensorThatHoldsTheIndices) {
  TraceBuilder builder;
  embed(builder, tensor(10, 11, {6}, "long int"));
  embed(builder, tensor(20, 21, {6}, "long int"));
  const Program program = compile(
      with_uses(builder, {{"aten::embedding", 2}}, {{"aten::embedding", 1, 1, {6}, kRowReuse}}));
  const Slot& indices = argument_slot(program, 1, 1);
  ASSERT_TRUE(indices.value.has_value());
  EXPECT_EQ(indices.value, (ValueRule{ValueRule::ReusedIntegers{.high = 50, .reuse = kRowReuse},
                                      "captured reuse"}));
  EXPECT_TRUE(argument_slot(program, 0, 1).value->is<ValueRule::Integers>());
  EXPECT_EQ(program.losses[et_schema::Loss::kUnjoinedIndices], 0U);
}

TEST(IndexUses, CallsOfOtherNumberAreJoinedBySizes) {
  TraceBuilder builder;
  embed(builder, tensor(10, 11, {4}, "long int"));
  embed(builder, tensor(20, 21, {6}, "long int"));
  const Program program = compile(with_uses(builder, {{"aten::embedding", 3}},
                                            {{"aten::embedding", 0, 1, {6}, kRowReuse},
                                             {"aten::embedding", 1, 1, {6}, kRowReuse},
                                             {"aten::gather", 0, 1, {6}, kRowReuse}}));
  EXPECT_TRUE(argument_slot(program, 0, 1).value->is<ValueRule::Integers>());
  EXPECT_TRUE(argument_slot(program, 1, 1).value->is<ValueRule::ReusedIntegers>());
  EXPECT_EQ(program.losses[et_schema::Loss::kUnjoinedIndices], 2U);
}

TEST(IndexUses, AFunctionalFormStandsForAnInPlaceOne) {
  TraceBuilder builder;
  builder.add(2, "aten::index_fill_",
              "aten::index_fill_.int_Scalar(Tensor(a!) self, int dim, Tensor index, Scalar value) "
              "-> Tensor(a!)",
              {tensor(30, 31, {50, 4}), integer(0), tensor(10, 11, {6}, "long int"), integer(1)},
              {tensor(30, 31, {50, 4})});
  const Program program = compile(
      with_uses(builder, {{"aten::index_fill", 1}}, {{"aten::index_fill", 0, 1, {6}, kRowReuse}}));
  EXPECT_EQ(std::get<ValueRule::ReusedIntegers>(argument_slot(program, 0, 2).value->kind).reuse,
            kRowReuse);
  EXPECT_EQ(program.losses[et_schema::Loss::kUnjoinedIndices], 0U);
}

TEST(IndexUses, TheRecorderSeesTheCallBelowOneOnWrappers) {
  TraceBuilder builder;
  const TestValue index = tensor(10, 11, {6, 2}, "long int");
  const std::uint64_t wrapped =
      builder.add(2, "aten::gather", kGather,
                  {without_storage(40, {9}, {1}), integer(0), without_storage(41, {2}, {1})},
                  {without_storage(42, {2}, {1})});
  builder.add(wrapped, "aten::gather", kGather, {tensor(30, 31, {6, 9}), integer(1), index},
              {tensor(32, 33, {6, 2})});
  const Program program = compile(
      with_uses(builder, {{"aten::gather", 1}}, {{"aten::gather", 0, 1, {6, 2}, kRowReuse}}));
  EXPECT_TRUE(argument_slot(program, 0, 2).value->is<ValueRule::ReusedIntegers>());
  EXPECT_EQ(program.losses[et_schema::Loss::kUnjoinedIndices], 0U);
}

TEST(IndexUses, AnExpandedIndexHasItsDrawsOnce) {
  // [3, 1] expanded to [3, 4]: each draw stands in four elements of the call, in one of memory.
  TraceBuilder builder;
  TestValue expanded = tensor(10, 11, {3, 4}, "long int");
  expanded.strides = "[1,0]";
  builder.add(2, "aten::gather", kGather,
              {tensor(30, 31, {5, 4}), integer(0), expanded, integer(0)}, {tensor(32, 33, {3, 4})});
  const Reuse recorded = {{{0, 5, {{1, 3}}}}, 4, false};
  const Program program = compile(
      with_uses(builder, {{"aten::gather", 1}}, {{"aten::gather", 0, 1, {3, 4}, recorded}}));
  bool found = false;
  for (const Slot& slot : program.slots) {
    const auto* reused = slot.value ? slot.value->as<ValueRule::ReusedIntegers>() : nullptr;
    if (reused != nullptr) {
      found = true;
      EXPECT_EQ(slot.sizes, (std::vector<std::int64_t>{3}));
      EXPECT_EQ(reused->reuse.run, 1);
      EXPECT_EQ(program.storages[slot.storage].bytes, 3 * 8);
    }
  }
  EXPECT_TRUE(found);
}

TEST(IndexUses, ZerosReachWhatWasThereBeforeTheStep) {
  TraceBuilder builder;
  builder.add(2, "aten::sqrt", kSqrt, {tensor(10, 11, {8, 4})}, {tensor(12, 13, {8, 4})});
  builder.add(2, "aten::sqrt", kSqrt, {tensor(12, 13, {8, 4})}, {tensor(14, 15, {8, 4})});
  Trace trace = with_uses(builder, {{"aten::sqrt", 2}}, {});
  trace.index_uses.zeros = {{"aten::sqrt", 0, 0, {8, 4}, 0.25}, {"aten::sqrt", 1, 0, {8, 4}, 0.5}};
  const Program program = compile(std::move(trace));
  const auto zeros_of = [&](std::size_t instruction) {
    return program.storages[argument_slot(program, instruction, 0).storage].zeros;
  };
  EXPECT_EQ(zeros_of(0), 0.25);
  EXPECT_EQ(zeros_of(1), 0);  // the step computes it
}

TEST(IndexUses, ZerosOfALogarithmAreKeptThoughTheStepComputesThem) {
  constexpr const char* kLog = "aten::log(Tensor self) -> Tensor";
  TraceBuilder builder;
  builder.add(2, "aten::sqrt", kSqrt, {tensor(10, 11, {8, 4})}, {tensor(12, 13, {8, 4})});
  builder.add(2, "aten::log", kLog, {tensor(12, 13, {8, 4})}, {tensor(14, 15, {8, 4})});
  Trace trace = with_uses(builder, {{"aten::sqrt", 1}, {"aten::log", 1}}, {});
  trace.index_uses.zeros = {{"aten::log", 0, 0, {8, 4}, 0.5}};
  const Program program = compile(std::move(trace));
  EXPECT_EQ(program.storages[argument_slot(program, 1, 0).storage].zeros, 0.5);
}

constexpr const char* kSparseMm = "aten::_sparse_mm(Tensor sparse, Tensor dense) -> Tensor";
constexpr const char* kSparseAddmm =
    "aten::_sparse_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) "
    "-> Tensor";

/// The trace has another batch than the recorder saw: fewer columns.
Program sparse_product(std::vector<et_schema::SparseUse> sparse) {
  TraceBuilder builder;
  const TestValue matrix = without_storage(40, {9, 6}, {0, 0});
  const std::uint64_t node = builder.add(
      2, "aten::_sparse_mm", kSparseMm, {matrix, tensor(30, 31, {6, 2})}, {tensor(32, 33, {9, 2})});
  builder.add(node, "aten::_sparse_addmm", kSparseAddmm,
              {tensor(34, 35, {9, 2}), matrix, tensor(30, 31, {6, 2}), integer(0), integer(1)},
              {tensor(32, 33, {9, 2})});
  Trace trace = with_uses(builder, {{"aten::_sparse_addmm", 1}}, {});
  trace.index_uses.sparse = std::move(sparse);
  return compile(std::move(trace));
}

TEST(IndexUses, WhatWasSparseBeforeTheStepHasItsElements) {
  const Reuse rows = {{{0, 9, {{3, 1}, {1, 3}}}}, 1, true};
  const Reuse columns = {{{0, 7, {{1, 6}}}}, 1, false};
  const Program program = sparse_product({{{"aten::_sparse_addmm", 0, 1, {9, 7}},
                                           et_schema::SparseLayout::kCsr,
                                           6,
                                           true,
                                           {rows, columns}}});
  const std::optional<et_schema::SparseContent>& content = argument_slot(program, 0, 0).content;
  ASSERT_TRUE(content);
  EXPECT_EQ(content->layout, et_schema::SparseLayout::kCsr);
  EXPECT_EQ(content->elements, 6);
  EXPECT_TRUE(content->coalesced);
  ASSERT_EQ(content->indices.size(), 2U);
  EXPECT_EQ(content->indices[0].kind,
            ValueRule::Kind(ValueRule::ReusedIntegers{.high = 9, .reuse = rows}));
  EXPECT_EQ(et_schema::range_of(content->indices[1]), (et_schema::IntegerRange{0, 6}));
  EXPECT_EQ(program.losses[et_schema::Loss::kUnknownSparse], 0U);
}

TEST(IndexUses, GroupsOfRowsAreAsLargeAsCaptured) {
  TraceBuilder builder;
  builder.add(2, "aten::_grouped_mm",
              "aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, "
              "ScalarType? out_dtype=None) -> Tensor",
              {tensor(16, 17, {40, 8}), tensor(18, 19, {4, 8, 5}), tensor(10, 11, {4}, "int"),
               none(), none()},
              {tensor(20, 21, {40, 5})});
  // One expert got nothing: ends of 3, 3, 15 and 20 rows, in a step of half as many.
  const Reuse ends = {{{3, 4, {{2, 1}}}, {15, 16, {{1, 1}}}, {20, 21, {{1, 1}}}}, 1, true};
  const Program program = compile(
      with_uses(builder, {{"aten::_grouped_mm", 1}}, {{"aten::_grouped_mm", 0, 2, {4}, ends}}));
  const Slot& offsets = argument_slot(program, 0, 2);
  ASSERT_TRUE(offsets.value.has_value());
  EXPECT_EQ(offsets.value, (ValueRule{ValueRule::Lengths{{{1, 6}, {1, 6}, {1, 30}, {1, 40}}},
                                      "aten::_grouped_mm.offs"}));
}

TEST(IndexUses, ASparseTensorThatNothingIsKnownOfIsAssumedAndCounted) {
  const Reuse rows = {{{0, 9, {{3, 1}, {1, 3}}}}, 1, true};
  const et_schema::SparseUse of_more_dims = {{"aten::_sparse_addmm", 0, 1, {9, 7}},
                                             et_schema::SparseLayout::kCoo,
                                             6,
                                             true,
                                             {rows, rows, rows}};
  for (const std::size_t uses : {0U, 1U}) {
    const Program program = sparse_product(std::vector<et_schema::SparseUse>(uses, of_more_dims));
    ASSERT_TRUE(argument_slot(program, 0, 0).content.has_value());
    EXPECT_EQ(argument_slot(program, 0, 0).content->indices.front().why,
              "assumed number of elements");
    EXPECT_EQ(program.losses[et_schema::Loss::kUnknownSparse], 1U);
  }
}

}  // namespace
}  // namespace understudy::generator::test
