// Lengths and offsets decide shapes: those that a program computes are made as its shapes want
// them.

#include <gtest/gtest.h>

#include "generator/flow/model_names.h"
#include "trace_builder.h"
#include "value_kinds.h"

namespace understudy::generator::test {
namespace {

TEST(MadeStructure, LengthsThatTheProgramDrawsItselfArePinned) {
  constexpr const char* kRandint =
      "aten::randint.low(SymInt low, SymInt high, SymInt[] size) -> Tensor";
  constexpr const char* kSort =
      "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor "
      "indices)";
  constexpr const char* kPack =
      "aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, "
      "Tensor)";
  const TestValue unsorted = tensor(10, 11, {4}, "long int");
  const TestValue sorted = tensor(12, 13, {4}, "long int");
  TraceBuilder builder;
  builder.add(2, "aten::randint", kRandint, {integer(3), integer(9), list({integer(4)})},
              {unsorted});
  builder.add(2, "aten::sort", kSort, {unsorted, integer(-1), integer(1)},
              {sorted, tensor(14, 15, {4}, "long int")});
  builder.add(2, "aten::_pack_padded_sequence", kPack,
              {tensor(16, 17, {4, 8, 5}), sorted, integer(1)},
              {tensor(18, 19, {21, 5}), tensor(20, 21, {8}, "long int")});
  builder.add(2, "aten::unsqueeze", "aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
              {sorted, integer(1)}, {tensor(22, 13, {4, 1}, "long int")});
  const Program program = builder.program();
  EXPECT_TRUE(program.instructions[0].pinned);
  EXPECT_FALSE(program.instructions[1].pinned);
  EXPECT_FALSE(program.instructions.back().pinned) << "a view of them";
  const Slot& drawn = result_slot(program, 0, 0);
  ASSERT_TRUE(drawn.value.has_value());
  EXPECT_TRUE(drawn.value->is<ValueRule::Lengths>());
}

constexpr const char* kBag =
    "aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
    "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "
    "bool "
    "include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)";

/// Offsets as jagged data has them: F.pad(lengths.cumsum(0), (1, 0)), of lengths that were drawn.
TEST(MadeStructure, OffsetsOfDrawnLengthsArePinnedThoughTheirRunningSumIsPadded) {
  TraceBuilder builder;
  builder.add(2, "aten::randint",
              "aten::randint.low(SymInt low, SymInt high, SymInt[] size) -> Tensor",
              {integer(0), integer(9), list({integer(4)})}, {tensor(10, 11, {4}, "long int")});
  builder.add(2, "aten::cumsum", "aten::cumsum(Tensor self, int dim) -> Tensor",
              {tensor(10, 11, {4}, "long int"), integer(0)}, {tensor(12, 13, {4}, "long int")});
  builder.add(2, "aten::constant_pad_nd",
              "aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
              {tensor(12, 13, {4}, "long int"), list({integer(1), integer(0)}), integer(0)},
              {tensor(14, 15, {5}, "long int")});
  builder.add(
      2, "aten::_embedding_bag", kBag,
      {tensor(16, 17, {50, 3}), tensor(18, 19, {21}, "long int"), tensor(14, 15, {5}, "long int"),
       integer(0), integer(0), integer(0), none(), integer(1), integer(-1)},
      {tensor(20, 21, {4, 3})});
  const Program program = builder.program();
  EXPECT_FALSE(program.instructions[1].pinned);
  EXPECT_TRUE(program.instructions[2].pinned);
  const Slot& starts = result_slot(program, 2, 0);
  ASSERT_TRUE(starts.value.has_value());
  EXPECT_EQ(starts.value->kind, offsets(21, false).kind);
}

/// The bags' starts alone: F.pad(lengths.cumsum(0), (1, 0))[:-1], whose range was seen as a whole.
TEST(MadeStructure, OffsetsThatAreAllButTheLastOfWhatIsPaddedArePinnedAsOffsets) {
  TraceBuilder builder;
  const TestValue sums = tensor(12, 13, {4}, "long int");
  const TestValue padded = tensor(14, 15, {5}, "long int");
  const TestValue starts = tensor(16, 15, {4}, "long int");
  builder.add(2, "aten::cumsum", "aten::cumsum(Tensor self, int dim) -> Tensor",
              {tensor(10, 11, {4}, "long int"), integer(0)}, {sums});
  builder.add(2, "aten::constant_pad_nd",
              "aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
              {sums, list({integer(1), integer(0)}), integer(0)}, {padded});
  builder.add(2, "aten::slice",
              "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, "
              "SymInt step=1) -> Tensor(a)",
              {padded, integer(0), integer(0), integer(-1), integer(1)}, {starts},
              R"(,{"name":"tensor_range","type":"string","value":"{\"0\":[0,21]}"})");
  builder.add(2, "aten::_embedding_bag", kBag,
              {tensor(18, 19, {50, 3}), tensor(20, 21, {21}, "long int"), starts, integer(0),
               integer(0), integer(0), none(), integer(0), integer(-1)},
              {tensor(22, 23, {4, 3})});
  const Program program = builder.program();
  EXPECT_TRUE(program.instructions[1].pinned);
  const Slot& made = result_slot(program, 1, 0);
  ASSERT_TRUE(made.value.has_value());
  EXPECT_EQ(made.value->kind, offsets(21, true).kind) << "the end is what the bags leave out";
}

/// Lengths of the first of a longer list that the program computes.
TEST(MadeStructure, LengthsThatAreTheFirstOfAListAreFollowedByNone) {
  TraceBuilder builder;
  const TestValue all = tensor(14, 15, {6}, "long int");
  const TestValue first = tensor(16, 15, {4}, "long int");
  builder.add(2, "aten::index", "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
              {tensor(10, 11, {6}, "long int"), list({tensor(12, 13, {6}, "long int")})}, {all});
  builder.add(2, "aten::slice",
              "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, "
              "SymInt step=1) -> Tensor(a)",
              {all, integer(0), integer(0), integer(4), integer(1)}, {first},
              R"(,{"name":"tensor_range","type":"string","value":"{\"0\":[0,9]}"})");
  builder.add(
      2, "aten::segment_reduce",
      "aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? "
      "indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? "
      "initial=None) -> Tensor",
      {tensor(18, 19, {21, 3}), none(), first, none(), none(), integer(0), integer(0), none()},
      {tensor(22, 23, {4, 3})});
  const Program program = builder.program();
  EXPECT_TRUE(program.instructions[0].pinned);
  const Slot& made = result_slot(program, 0, 0);
  ASSERT_TRUE(made.value.has_value());
  EXPECT_EQ(made.value->kind, lengths({{4, 21}, {2, 0}}).kind);
}

constexpr const char* kSegments =
    "aten::_padded_dense_to_jagged_forward(Tensor dense, Tensor[] offsets, SymInt? total_L=None) "
    "-> "
    "Tensor";

void pack_by(TraceBuilder& builder, const TestValue& offsets) {
  builder.add(2, "aten::_padded_dense_to_jagged_forward", kSegments,
              {tensor(80, 81, {3, 8, 2}), list({offsets}), integer(17)}, {tensor(82, 83, {17, 2})});
}

TEST(MadeStructure, OffsetsComputedOfTheBatchArePinnedWhereTheyAreComputed) {
  TraceBuilder builder;  // lengths of a batch, their running sums, and a zero before them
  builder.add(2, "aten::cumsum", "aten::cumsum(Tensor self, int dim) -> Tensor",
              {tensor(10, 11, {3}, "long int"), integer(0)}, {tensor(12, 13, {3}, "long int")});
  builder.add(2, "aten::zeros", "aten::zeros(SymInt[] size) -> Tensor", {list({integer(1)})},
              {tensor(14, 15, {1}, "long int")});
  builder.add(
      2, "aten::cat", "aten::cat(Tensor[] tensors, int dim=0) -> Tensor",
      {list({tensor(14, 15, {1}, "long int"), tensor(12, 13, {3}, "long int")}), integer(0)},
      {tensor(16, 17, {4}, "long int")});
  pack_by(builder, tensor(16, 17, {4}, "long int"));
  const Program program = builder.program();
  EXPECT_FALSE(program.instructions[0].pinned);
  EXPECT_TRUE(program.instructions[2].pinned);
  const Slot& starts = result_slot(program, 2, 0);
  ASSERT_TRUE(starts.value.has_value());
  EXPECT_EQ(starts.value->kind, offsets(17, true, 8).kind) << "no longer than the padded rows";
}

TEST(MadeStructure, OffsetsThatTheProgramKnowsAreComputed) {
  TraceBuilder builder;
  builder.add(2, "aten::arange",
              "aten::arange.start_step(Scalar start, Scalar end, Scalar step=1) -> Tensor",
              {integer(0), integer(8), integer(2)}, {tensor(16, 17, {4}, "long int")});
  pack_by(builder, tensor(16, 17, {4}, "long int"));
  EXPECT_FALSE(builder.program().instructions[0].pinned);
}

TEST(MadeStructure, LengthsInAnotherOrderArePinned) {  // sorted by hand: lengths[lengths.argsort()]
  TraceBuilder builder;
  builder.add(2, "aten::index", "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
              {tensor(10, 11, {4}, "long int"), list({tensor(12, 13, {4}, "long int")})},
              {tensor(14, 15, {4}, "long int")});
  builder.add(2, "aten::_pack_padded_sequence",
              "aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> "
              "(Tensor, Tensor)",
              {tensor(16, 17, {4, 8, 5}), tensor(14, 15, {4}, "long int"), integer(1)},
              {tensor(18, 19, {21, 5}), tensor(20, 21, {8}, "long int")});
  builder.add(2, "aten::item", "aten::item(Tensor self) -> Scalar",
              {tensor(22, 15, {}, "long int")}, {},
              R"(,{"name":"tensor_range","type":"string","value":"{\"0\":[8,8]}"})");
  const Program program = builder.program();
  EXPECT_TRUE(program.instructions[0].pinned);
  const Slot& made = result_slot(program, 0, 0);
  ASSERT_TRUE(made.value.has_value());
  EXPECT_TRUE(made.value->is<ValueRule::Lengths>()) << "what was seen of one says less";
}

TEST(MadeStructure, BatchSizesFollowFromTheLengthsThatAreMade) {
  TraceBuilder builder;
  builder.add(2, "aten::_pack_padded_sequence",
              "aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> "
              "(Tensor, Tensor)",
              {tensor(16, 17, {4, 8, 5}), tensor(14, 15, {4}, "long int"), integer(1)},
              {tensor(18, 19, {21, 5}), tensor(20, 21, {8}, "long int")});
  builder.add(
      2, "aten::_pad_packed_sequence",
      "aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar "
      "padding_value, int total_length) -> (Tensor, Tensor)",
      {tensor(18, 19, {21, 5}), tensor(20, 21, {8}, "long int"), integer(1), integer(0),
       integer(8)},
      {tensor(22, 23, {4, 8, 5}), tensor(24, 25, {4}, "long int")});
  EXPECT_FALSE(builder.program().instructions[0].pinned);
}

constexpr const char* kGroupedMm =
    "aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? "
    "out_dtype=None) -> Tensor";
constexpr const char* kCumsum =
    "aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor";

TEST(MadeStructure, EndsOfGroupsAreRunningSumsOfLengthsThatAddUp) {
  TraceBuilder builder;
  const TestValue counts = tensor(12, 13, {4}, "long int");
  const TestValue ends = tensor(14, 15, {4}, "int");
  builder.add(2, "aten::bincount",
              "aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
              {tensor(10, 11, {42}, "long int"), none(), integer(4)}, {counts});
  builder.add(2, "aten::cumsum", kCumsum, {counts, integer(0), integer(3)}, {ends});
  builder.add(2, "aten::_grouped_mm", kGroupedMm,
              {tensor(16, 17, {42, 8}), tensor(18, 19, {4, 8, 5}), ends, none(), none()},
              {tensor(20, 21, {42, 5})});
  const Program program = builder.program();
  EXPECT_TRUE(program.instructions[0].pinned);
  EXPECT_FALSE(program.instructions[1].pinned) << "of these lengths it makes these ends";
  const Slot& made = result_slot(program, 0, 0);
  ASSERT_TRUE(made.value.has_value());
  EXPECT_EQ(made.value->kind, lengths({{1, 11}, {1, 10}, {1, 11}, {1, 10}}).kind);
}

TEST(MadeStructure, EndsOfGroupsAreOfTheRowsThatAreGrouped) {
  struct Case {
    std::vector<std::int64_t> left, right;
    std::int64_t rows;
  };
  for (const Case& call :
       {Case{{40, 8}, {2, 8, 5}, 40}, Case{{2, 8, 5}, {5, 30}, 30}, Case{{8, 20}, {20, 5}, 20}}) {
    TraceBuilder builder;
    builder.add(2, "aten::_grouped_mm", kGroupedMm,
                {tensor(16, 17, call.left), tensor(18, 19, call.right), tensor(14, 15, {2}, "int"),
                 none(), none()},
                {tensor(20, 21, {2})});
    const Slot ends = argument_slot(builder.program(), 0, 2);
    ASSERT_TRUE(ends.value.has_value());
    EXPECT_EQ(ends.value->kind, lengths({{1, call.rows / 2}, {1, call.rows}}).kind);
  }
}

TEST(MadeStructure, CountsThatAreExchangedAddUpToTheValuesThatFollow) {
  const auto exchange = [](TraceBuilder& builder, const TestValue& out, const TestValue& in,
                           const std::vector<TestValue>& splits) {
    std::vector<TestValue> inputs = {out, in};
    inputs.insert(inputs.end(), splits.begin(), splits.end());
    builder.add(2, "c10d::alltoall_base_", "x", inputs, {});
  };
  TraceBuilder builder;
  const TestValue counts = tensor(12, 13, {4}, "long int");
  const TestValue heard = tensor(14, 15, {4}, "long int");
  builder.add(2, "aten::bincount",
              "aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
              {tensor(10, 11, {42}, "long int"), none(), integer(4)}, {counts});
  exchange(builder, heard, counts, {});
  exchange(builder, tensor(16, 17, {37}), tensor(18, 19, {42}),
           {list({integer(20), integer(17)}), list({integer(20), integer(22)})});
  builder.add(2, "aten::repeat_interleave",
              "aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> "
              "Tensor",
              {heard, none()}, {tensor(20, 21, {37}, "long int")});
  GenerateOptions options;
  options.partial = PartialRanks::kAllowed;
  const Program program = builder.program(options);
  const Slot& made = result_slot(program, 0, 0);
  ASSERT_TRUE(made.value.has_value());
  EXPECT_EQ(made.value->kind, lengths({{2, 20}, {2, 22}}).kind);
}

/// Counted as floats (histc), they are made where they become integers.
TEST(MadeStructure, EndsOfGroupsThatAreSummedUpOfFloatsArePinned) {
  TraceBuilder builder;
  const TestValue ends = tensor(14, 15, {4}, "int");
  builder.add(2, "aten::cumsum", kCumsum, {tensor(12, 13, {4}), integer(0), integer(3)}, {ends});
  builder.add(2, "aten::_grouped_mm", kGroupedMm,
              {tensor(16, 17, {42, 8}), tensor(18, 19, {4, 8, 5}), ends, none(), none()},
              {tensor(20, 21, {42, 5})});
  EXPECT_TRUE(builder.program().instructions[0].pinned);
}

/// Of a profile alone: which part of a vocabulary a rank holds is a number that nothing tells.
TEST(MadeStructure, IndicesThatAreComputedOfUnknownNumbersAreDrawnWithinTheTable) {
  TraceBuilder builder;
  const TestValue local = tensor(12, 13, {6}, "long int");
  builder.add(
      2, "aten::sub", "aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
      {tensor(10, 11, {6}, "long int"), tensor(14, 15, {}, "long int"), integer(1)}, {local});
  builder.add(2, "aten::embedding",
              "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
              "scale_grad_by_freq=False, bool sparse=False) -> Tensor",
              {tensor(16, 17, {32, 8}), local, integer(-1), integer(0), integer(0)},
              {tensor(18, 19, {6, 8})});
  const Program program = builder.program();
  EXPECT_TRUE(program.instructions[0].pinned);
  EXPECT_EQ(result_slot(program, 0, 0).value, integers(0, 32, "aten::embedding.indices"));
  EXPECT_EQ(program.losses[et_schema::Loss::kAssumedArguments], 1U);
}

/// A table whose columns are divided has its feature twice.
TEST(MadeStructure, APermutationOfMorePlacesThanSegmentsStaysWithinThem) {
  TraceBuilder builder;
  builder.add(
      2, "fbgemm::permute_2D_sparse_data",
      "fbgemm::permute_2D_sparse_data(Tensor permute, Tensor lengths, Tensor values, Tensor? "
      "weights=None, SymInt? permuted_lengths_sum=None) -> (Tensor, Tensor, Tensor?)",
      {tensor(10, 11, {3}, "int"), tensor(12, 13, {2, 4}, "int"), tensor(14, 15, {9}, "long int"),
       none(), integer(12)},
      {tensor(16, 17, {3, 4}, "int"), tensor(18, 19, {12}, "long int"), none()});
  const Program program = builder.program();
  const Slot& permutation = argument_slot(program, 0, 0);
  ASSERT_TRUE(permutation.value.has_value());
  EXPECT_EQ(permutation.value->kind, lengths({{1, 0}, {1, 1}, {1, 0}}).kind);
}

}  // namespace
}  // namespace understudy::generator::test
