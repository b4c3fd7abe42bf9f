// What operators ask of values reaches the external tensors that the values come from.

#include <gtest/gtest.h>

#include "generator/flow/model_names.h"
#include "trace_builder.h"
#include "value_kinds.h"

namespace understudy::generator::test {
namespace {

constexpr const char* kTo =
    "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False) -> Tensor(a)";
constexpr const char* kMaskedSelectSchema =
    "aten::masked_select(Tensor self, Tensor mask) -> Tensor";
constexpr const char* kGreater = "aten::gt.Scalar(Tensor self, Scalar other) -> Tensor";

void embed_at(TraceBuilder& builder, const TestValue& indices, const std::string& attributes = "") {
  builder.add(2, "aten::embedding", kEmbedding,
              {tensor(30, 31, {50, 8}), indices, integer(-1), integer(0), integer(0)},
              {tensor(32, 33, {6, 8})}, attributes);
}

TEST(Values, IndicesStayBelowTheTable) {
  TraceBuilder builder;
  embed_at(builder, tensor(10, 11, {6}, "long int"));
  const Program program = builder.program();
  const Slot& indices = argument_slot(program, 0, 1);
  ASSERT_TRUE(indices.value.has_value());
  EXPECT_EQ(*indices.value, integers(0, 50, "aten::embedding.indices"));
  EXPECT_FALSE(argument_slot(program, 0, 0).value.has_value());
}

TEST(Values, ADemandIsCarriedThroughACopyToItsSource) {
  TraceBuilder builder;
  builder.add(2, "aten::to", kTo, {tensor(10, 11, {6}, "int"), integer(4), integer(0)},
              {tensor(20, 21, {6}, "long int")});
  embed_at(builder, tensor(20, 21, {6}, "long int"));
  const Program program = builder.program();
  EXPECT_EQ(argument_slot(program, 0, 0).value, integers(0, 50, "aten::embedding.indices"));
}

TEST(Values, APartOfATensorBecomesASlotOfItsOwn) {
  TraceBuilder builder;
  builder.add(2, "aten::to", kTo, {tensor(10, 11, {10}, "int"), integer(4), integer(0)},
              {tensor(20, 21, {10}, "long int")});
  embed_at(builder, tensor(22, 21, {6}, "long int", 4));
  const Program program = builder.program();
  const Slot& part = program.slots.back();
  EXPECT_TRUE(part.external);
  EXPECT_EQ(part.storage, argument_slot(program, 0, 0).storage);
  EXPECT_EQ(part.offset, 4);
  EXPECT_EQ(part.sizes, std::vector<std::int64_t>{6});
  EXPECT_EQ(part.value, integers(0, 50, "aten::embedding.indices"));
}

TEST(Values, APartStaysWithinWhatIsAskedOfAll) {  // kinds of tokens and their places in one buffer
  TraceBuilder builder;
  builder.add(2, "aten::embedding", kEmbedding,
              {tensor(34, 35, {2, 8}), tensor(20, 21, {10}, "long int"), integer(-1), integer(0),
               integer(0)},
              {tensor(36, 37, {10, 8})});
  embed_at(builder, tensor(22, 21, {6}, "long int", 4));
  const Program program = builder.program();
  EXPECT_EQ(argument_slot(program, 0, 1).value, integers(0, 2, "aten::embedding.indices"));
  EXPECT_EQ(argument_slot(program, 1, 1).value, integers(0, 2, "aten::embedding.indices"));
}

TEST(Values, ACapturedRangeNarrowsADemand) {
  TraceBuilder builder;
  embed_at(builder, tensor(10, 11, {6}, "long int"),
           R"(,{"name":"tensor_range","type":"string","value":"{\"1\":[3,9]}"})");
  const Program program = builder.program();
  EXPECT_EQ(argument_slot(program, 0, 1).value, integers(3, 10, "aten::embedding.indices"));
}

TEST(Values, ARuleThatNoContentFulfilsIsWeakened) {
  TraceBuilder builder;
  builder.add(2, "aten::nll_loss_forward",
              "aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, "
              "SymInt ignore_index) -> (Tensor output, Tensor total_weight)",
              {tensor(10, 11, {6, 300}), tensor(12, 13, {6}, "unsigned char"), none(), integer(1),
               integer(-100)},
              {tensor(14, 15, {}), tensor(16, 17, {})});
  const Program program = builder.program();
  EXPECT_EQ(argument_slot(program, 0, 1).value->as<et_schema::ValueRule::Targets>()->classes, 256);
  EXPECT_EQ(program.losses[et_schema::Loss::kAssumedArguments], 1U);
}

/// A view of another type, and an operator that reads it with a captured range.
Program bits(const std::string& from, const std::string& to) {
  TraceBuilder builder;
  const bool is_first = from == "float";
  builder.add(
      2, "aten::relu", kRelu, {tensor(10, 11, {4, 8}, from)}, {tensor(12, 13, {4, 8}, from)},
      is_first ? "" : R"(,{"name":"tensor_range","type":"string","value":"{\"0\":[0,255]}"})");
  builder.add(2, "aten::view", "aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
              {tensor(10, 11, {4, 8}, from), integer(3)}, {tensor(14, 11, {4, 8}, to)});
  builder.add(
      2, "aten::relu", kRelu, {tensor(14, 11, {4, 8}, to)}, {tensor(18, 19, {4, 8}, to)},
      is_first ? R"(,{"name":"tensor_range","type":"string","value":"{\"0\":[-9,900]}"})" : "");
  return builder.program();
}

TEST(Values, TheBitsOfFloatsAreDrawnAsFloats) {
  for (const et_schema::Slot& slot : bits("float", "int").slots) {
    EXPECT_FALSE(slot.value);
  }
  const Program parts = bits("int", "float");  // scales among bytes
  EXPECT_EQ(argument_slot(parts, 0, 0).value, integers(0, 256, "captured range"));
  EXPECT_TRUE(parts.slots.back().external);
  EXPECT_EQ(parts.slots.back().dtype, et_schema::DType::kFloat32);
  EXPECT_EQ(parts.slots.back().value, normal(0.02));
}

TEST(Values, OffsetsHoldTheEndWhereTheForwardSaysSo) {
  // The backward has no argument that says whether they do.
  TraceBuilder builder;
  const TestValue starts = tensor(12, 13, {4}, "long int");
  const TestValue indices = tensor(10, 11, {6}, "long int");
  const TestValue of_bags = tensor(34, 35, {6}, "long int");
  builder.add(2, "aten::_embedding_bag",
              "aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
              "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? "
              "per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor)",
              {tensor(30, 31, {50, 8}),
               indices,
               starts,
               {"false", "[]", "Bool"},
               integer(0),
               {"true", "[]", "Bool"},
               none(),
               {"true", "[]", "Bool"}},
              {tensor(32, 33, {3, 8}), of_bags});
  builder.add(2, "aten::_embedding_bag_sparse_backward",
              "aten::_embedding_bag_sparse_backward(Tensor grad, Tensor indices, Tensor offsets, "
              "Tensor offset2bag) -> Tensor",
              {tensor(36, 37, {3, 8}), indices, starts, of_bags}, {tensor(38, 39, {6, 8})});
  const Program program = builder.program();
  const std::optional<et_schema::ValueRule>& rule = argument_slot(program, 0, 2).value;
  ASSERT_TRUE(rule.has_value());
  EXPECT_EQ(rule->kind, offsets(6, true).kind);
}

TEST(Values, ASparseTensorOfWhichNothingIsRecordedGetsElements) {
  TraceBuilder builder;
  TestValue matrix = without_storage(10, {50, 30}, {});
  builder.add(2, "aten::_sparse_mm", "aten::_sparse_mm(Tensor sparse, Tensor dense) -> Tensor",
              {matrix, tensor(12, 13, {30, 4})}, {tensor(14, 15, {50, 4})});
  const Program program = builder.program();
  const Slot& slot = argument_slot(program, 0, 0);
  ASSERT_TRUE(slot.sparse);
  ASSERT_TRUE(slot.content.has_value());
  EXPECT_FALSE(slot.content->coalesced);
  EXPECT_EQ(slot.content->elements, 50 * 30 / 8);  // eight a row would be more
  ASSERT_EQ(slot.content->indices.size(), 2U);
  EXPECT_EQ(slot.content->indices[1], integers(0, 30, "assumed number of elements"));
  EXPECT_EQ(program.losses[et_schema::Loss::kUnknownSparse], 1U);
}

TEST(Values, AnUnknownSparseTensorIsCoalescedWhereItsIndicesAreRead) {
  TraceBuilder builder;
  builder.add(2, "aten::indices", "aten::indices(Tensor(a) self) -> Tensor(a)",
              {without_storage(10, {50, 30}, {})}, {tensor(12, 13, {2, 187}, "long int")});
  const Program program = builder.program();
  ASSERT_TRUE(argument_slot(program, 0, 0).content.has_value());
  EXPECT_TRUE(argument_slot(program, 0, 0).content->coalesced);
}

TestValue on_meta(TestValue value) {
  value.value.replace(value.value.find("cpu"), 3, "meta");
  return value;
}

TEST(Values, TensorsWithoutMemoryAreNoAliasesOfEachOther) {
  TraceBuilder builder;  // PyTorch records one storage for all of them
  builder.add(2, "aten::sqrt", "aten::sqrt(Tensor self) -> Tensor",
              {on_meta(tensor(10, 155, {8, 8}))}, {on_meta(tensor(12, 155, {8, 8}))});
  builder.add(2, "aten::sqrt", "aten::sqrt(Tensor self) -> Tensor",
              {on_meta(tensor(14, 155, {1000}))}, {on_meta(tensor(16, 155, {1000}))});
  const Program program = builder.program();
  ASSERT_EQ(program.instructions.size(), 2U);
  const Slot& first = argument_slot(program, 0, 0);
  const Slot& second = argument_slot(program, 1, 0);
  EXPECT_NE(first.storage, second.storage);
  EXPECT_TRUE(second.external);
  EXPECT_EQ(program.storages[first.storage].device.type, et_schema::DeviceType::kMeta);
  EXPECT_EQ(program.storages.size(), 4U);
}

/// Forward derivatives begin as such: they have sizes on a device that has memory, and none there.
TEST(Values, ZerosWithoutMemoryAreNoAliasesOfEachOther) {
  const std::string zeros =
      "aten::_efficientzerotensor(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
      "Device? device=None, bool? pin_memory=None) -> Tensor";
  TraceBuilder builder;  // PyTorch records one storage for all of them
  builder.add(2, "aten::_efficientzerotensor", zeros,
              {list({integer(8)}), integer(6), none(), none(), none()}, {tensor(10, 155, {8})});
  builder.add(2, "aten::_efficientzerotensor", zeros,
              {list({integer(4), integer(8)}), integer(6), none(), none(), none()},
              {tensor(12, 155, {4, 8})});
  builder.add(2, "aten::add",
              "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
              {tensor(10, 155, {8}), tensor(14, 15, {4, 8}), integer(1)}, {tensor(16, 17, {4, 8})});
  const Program program = builder.program();
  ASSERT_EQ(names(program.instructions),
            (std::vector<std::string>{"aten::_efficientzerotensor", "aten::_efficientzerotensor",
                                      "aten::add.Tensor"}));
  EXPECT_EQ(&result_slot(program, 0, 0), &argument_slot(program, 2, 0));
}

TEST(Values, AMaskThatDecidesAShapeIsMadeWithTheRecordedCount) {
  TraceBuilder builder;
  builder.add(2, "aten::gt", kGreater, {tensor(10, 11, {6}), integer(0)},
              {tensor(12, 13, {6}, "bool")});
  builder.add(2, "aten::masked_select", kMaskedSelectSchema,
              {tensor(10, 11, {6}), tensor(12, 13, {6}, "bool")}, {tensor(14, 15, {2})});
  const Program program = builder.program();
  const Slot& mask = argument_slot(program, 1, 1);
  EXPECT_TRUE(mask.external);
  ASSERT_TRUE(mask.value.has_value());
  EXPECT_EQ(mask.value->kind, ValueRule::Kind(ValueRule::Mask{2}));
  EXPECT_EQ(program.losses[et_schema::Loss::kMadeMasks], 1U);
}

TEST(Values, UniqueHasPinnedResults) {
  TraceBuilder builder;
  builder.add(2, "aten::_unique2",
              "aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool "
              "return_counts=False) -> "
              "(Tensor, Tensor, Tensor)",
              {tensor(10, 11, {6}, "long int"), integer(1), integer(0), integer(0)},
              {tensor(12, 13, {3}, "long int"), tensor(14, 15, {0}, "long int"),
               tensor(16, 17, {0}, "long int")});
  embed_at(builder, tensor(12, 13, {3}, "long int"));
  const Program program = builder.program();
  EXPECT_TRUE(program.instructions[0].pinned);
  const Slot& values = result_slot(program, 0, 0);
  EXPECT_EQ(values.value, integers(0, 50, "aten::embedding.indices"));
}

constexpr const char* kEmpty =
    "aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None) -> Tensor";
constexpr const char* kFill = "aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)";

void allocate(TraceBuilder& builder) {
  builder.add(2, "aten::empty", kEmpty, {list({integer(6)})}, {tensor(10, 11, {6}, "long int")});
}

TEST(Values, MemoryThatIsReadBeforeItIsWrittenIsPinned) {
  TraceBuilder builder;  // torch.tensor([…]) shows as empty and nothing more
  allocate(builder);
  embed_at(builder, tensor(10, 11, {6}, "long int"));
  const Program program = builder.program();
  EXPECT_TRUE(program.instructions[0].pinned);
  EXPECT_EQ(argument_slot(program, 1, 1).value, integers(0, 50, "aten::embedding.indices"));
}

TEST(Values, WhatTorchTensorMadeIsPinnedThoughOnlyViewsOfItFollow) {
  TraceBuilder builder;
  allocate(builder);
  const TestValue made = tensor(10, 11, {6}, "long int");
  builder.add(2, "aten::lift_fresh", "aten::lift_fresh(Tensor(a) self) -> Tensor(a)", {made},
              {made});
  EXPECT_TRUE(builder.program().instructions[0].pinned);
}

TEST(Values, MemoryThatIsWrittenFirstIsNotPinned) {
  TraceBuilder builder;
  allocate(builder);
  builder.add(2, "aten::fill_", kFill, {tensor(10, 11, {6}, "long int"), integer(3)},
              {tensor(10, 11, {6}, "long int")});
  embed_at(builder, tensor(10, 11, {6}, "long int"));
  EXPECT_FALSE(builder.program().instructions[0].pinned);
}

TEST(Values, AReductionInPlaceReadsWhatItWrites) {
  TraceBuilder builder;
  const TestValue sum = tensor(10, 11, {4});
  builder.add(2, "aten::empty", "aten::empty(SymInt[] size) -> Tensor", {list({integer(4)})},
              {sum});
  builder.add(2, "c10d::allreduce_", "c10d::allreduce_(Tensor[] tensors) -> (Tensor[])",
              {list({sum})}, {list({sum})});
  EXPECT_TRUE(builder.program().instructions[0].pinned);
}

// A root of the result of an operator: the rule of an argument's values, of 8 bits or floats.
std::optional<ValueRule> rule_below_a_root(const std::string& name, const std::string& schema,
                                           std::size_t index, const char* dtype = "float",
                                           int second = 12) {
  TraceBuilder builder;
  builder.add(2, name, schema,
              {tensor(10, 11, {4, 4}, dtype), tensor(second, second + 1, {4, 4}), integer(1)},
              {tensor(14, 15, {4, 4})});
  builder.add(2, "aten::sqrt", kSqrt, {tensor(14, 15, {4, 4})}, {tensor(16, 17, {4, 4})});
  return argument_slot(builder.program(), 0, index).value;
}

TEST(Values, WhatARootIsTakenOfIsPositiveThroughSumsProductsAndMeans) {
  const std::string lerp = "aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor";
  const std::string mul = "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor";
  const std::string where =
      "aten::where.self(Tensor self, Tensor other, Scalar condition) -> Tensor";
  for (const auto& [name, schema] : {std::pair<std::string, std::string>("aten::add", kAdd),
                                     {"aten::lerp", lerp},
                                     {"aten::mul", mul},
                                     {"aten::where", where}}) {
    for (const std::size_t index : {0U, 1U}) {
      const std::optional<ValueRule> rule = rule_below_a_root(name, schema, index);
      ASSERT_TRUE(rule.has_value()) << name << index;
      ASSERT_TRUE(rule->is<ValueRule::Uniform>()) << name << index;
      EXPECT_GT(rule->as<ValueRule::Uniform>()->low, 0) << name << index;
    }
  }
  EXPECT_FALSE(rule_below_a_root("aten::mul", mul, 0, "float", 10).has_value());  // a square
  EXPECT_FALSE(
      rule_below_a_root("aten::sub", "aten::sub.Tensor(Tensor self, Tensor other) -> Tensor", 1)
          .has_value());
}

TEST(Values, IntegersThatAreCastBelowARootKeepTheirOwnValues) {
  EXPECT_FALSE(rule_below_a_root("aten::to", kTo, 0, "unsigned char").has_value());
  EXPECT_TRUE(rule_below_a_root("aten::to", kTo, 0, "c10::Half").has_value());
}

constexpr const char* kRepeat = "aten::repeat(Tensor self, SymInt[] repeats) -> Tensor";
constexpr const char* kGroupNorm =
    "aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None) -> "
    "Tensor";

TEST(Values, ARepeatedBiasIsNearZero) {  // as an instance norm repeats its own
  TraceBuilder builder;
  builder.add(2, "aten::repeat", kRepeat, {tensor(10, 11, {4}), list({integer(3)})},
              {tensor(12, 13, {12})});
  builder.add(2, "aten::group_norm", kGroupNorm,
              {tensor(14, 15, {1, 12, 2}), integer(12), none(), tensor(12, 13, {12})},
              {tensor(16, 17, {1, 12, 2})});
  const Program program = builder.program();
  ASSERT_TRUE(argument_slot(program, 0, 0).value.has_value());
  EXPECT_TRUE(argument_slot(program, 0, 0).value->is<ValueRule::Normal>());
  EXPECT_EQ(argument_slot(program, 0, 0).value->why, "aten::group_norm.bias");
}

TEST(Values, APartNearZeroAsksNothingOfTheRest) {
  TraceBuilder builder;
  builder.add(2, "aten::repeat", kRepeat, {tensor(10, 11, {4}), list({integer(3)})},
              {tensor(12, 13, {12})});
  builder.add(2, "aten::group_norm", kGroupNorm,
              {tensor(14, 15, {1, 6, 2}), integer(6), none(), tensor(18, 13, {6}, "float", 6)},
              {tensor(16, 17, {1, 6, 2})});
  EXPECT_FALSE(argument_slot(builder.program(), 0, 0).value.has_value());
}

TEST(Values, AMovingAverageIsMovedInPlace) {
  const auto rule_of_self = [](const std::string& name, const std::string& schema, int result) {
    TraceBuilder builder;
    builder.add(2, name, schema, {tensor(10, 11, {4, 4}), tensor(12, 13, {4, 4}), integer(1)},
                {tensor(result, result + 1, {4, 4})});
    return argument_slot(builder.program(), 0, 0).value;
  };
  const auto moved = rule_of_self(
      "aten::lerp_", "aten::lerp_.Scalar(Tensor(a!) self, Tensor end, Scalar weight) -> Tensor(a!)",
      10);
  ASSERT_TRUE(moved.has_value());
  EXPECT_TRUE(moved->is<ValueRule::Normal>());
  EXPECT_FALSE(rule_of_self("aten::lerp",
                            "aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
                            14)
                   .has_value());
}

TEST(Values, LengthsOfPackedSequencesFallAndAddUp) {
  TraceBuilder builder;
  builder.add(2, "aten::_pack_padded_sequence",
              "aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> "
              "(Tensor, Tensor)",
              {tensor(10, 11, {12, 4, 8}), tensor(12, 13, {4}, "long int"), integer(0)},
              {tensor(14, 15, {24, 8}), tensor(16, 17, {9}, "long int")});
  const Program program = builder.program();
  ASSERT_TRUE(argument_slot(program, 0, 1).value.has_value());
  EXPECT_EQ(argument_slot(program, 0, 1).value->kind,
            lengths({{1, 9}, {1, 5}, {1, 5}, {1, 5}}).kind);
}

TEST(Values, LengthsThatAreSortedFirstFallAndAddUpToo) {
  TraceBuilder builder;
  builder.add(2, "aten::sort",
              "aten::sort(Tensor self, int dim=-1, bool descending=False) -> "
              "(Tensor values, Tensor indices)",
              {tensor(12, 13, {4}, "long int"), integer(-1), integer(1)},
              {tensor(18, 19, {4}, "long int"), tensor(20, 21, {4}, "long int")});
  builder.add(2, "aten::_pack_padded_sequence",
              "aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> "
              "(Tensor, Tensor)",
              {tensor(10, 11, {9, 4, 8}), tensor(18, 19, {4}, "long int"), integer(0)},
              {tensor(14, 15, {24, 8}), tensor(16, 17, {9}, "long int")});
  const Program program = builder.program();
  ASSERT_TRUE(argument_slot(program, 0, 0).value.has_value());
  EXPECT_EQ(argument_slot(program, 0, 0).value->kind,
            lengths({{1, 9}, {1, 5}, {1, 5}, {1, 5}}).kind);
}

}  // namespace
}  // namespace understudy::generator::test
