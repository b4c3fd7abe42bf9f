#include "et_schema/model/operator_trust.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/error_text.h"

namespace understudy::et_schema {
namespace {

constexpr auto kComputes = OperatorReach::kComputes;
constexpr auto kUnknown = OperatorReach::kUnknown;
constexpr auto kBeyond = OperatorReach::kBeyond;

TEST(OperatorTrust, WhatComputesIsCalled) {
  for (const char* schema :
       {"aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        "aten::gelu(Tensor self, *, str approximate='none') -> Tensor",
        "aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor",
        "aten::_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()",
        "aten::_assert_async.msg(Tensor self, str assert_msg) -> ()", "fbgemm::dense_to_jagged",
        "aten::relu"}) {
    EXPECT_EQ(trust_of(schema).reach, kComputes) << schema << ": " << trust_of(schema).why;
  }
}

TEST(OperatorTrust, FilesPrintingAndMemoryOfOthersAreRefusedByName) {
  for (const char* schema :
       {"aten::from_file(str filename, bool? shared=None, int? size=0) -> Tensor",
        "aten::from_file.out(Tensor a) -> Tensor", "aten::save(Tensor item, str mode) -> Tensor",
        "aten::_print", "aten::set_data(Tensor(a!) self, Tensor new_data) -> ()",
        "inductor::_reinterpret_tensor(Tensor self, int[] size, int[] stride, int offset) -> "
        "Tensor",
        "inductor::resize_storage_bytes_(Tensor variable, SymInt new_size) -> ()",
        "profiler::_record_function_exit(Tensor _0) -> ()"}) {
    EXPECT_EQ(trust_of(schema).reach, kBeyond) << schema;
  }
}

TEST(OperatorTrust, NewOperatorsAreJudgedByTheirSchema) {
  EXPECT_EQ(trust_of("aten::new_reader(str path) -> Tensor").why,
            "its text argument 'path' chooses no way to compute");
  EXPECT_EQ(trust_of("aten::new_reader(str[]? names, str? to=None) -> Tensor").why,
            "its text argument 'to' chooses no way to compute");
  EXPECT_EQ(trust_of("aten::new_effect(Tensor self) -> ()").why,
            "it returns nothing and writes to no tensor");
}

TEST(OperatorTrust, OtherNamespacesAreUnknown) {
  for (const char* schema :
       {"symm_mem::nvshmem_put(Tensor(a!) tensor, int peer) -> ()",
        "c10d::barrier(Tensor tensor) -> __torch__.Work", "static_runtime::dict_unpack(...) -> ...",
        "mine::op", "no_namespace"}) {
    EXPECT_EQ(trust_of(schema).reach, kUnknown) << schema;
  }
}

TEST(OperatorTrust, AllowedAreNamesWithOrWithoutAnOverload) {
  EXPECT_TRUE(allows({"aten::from_file"}, "aten::from_file.out"));
  EXPECT_TRUE(allows({"aten::from_file.out"}, "aten::from_file.out"));
  EXPECT_FALSE(allows({"aten::from_file.out"}, "aten::from_file"));
  EXPECT_TRUE(allows({"*"}, "mine::op"));
  EXPECT_FALSE(allows({}, "aten::relu"));
}

std::string refusal(const Program& program, const AllowedOperators& allowed) {
  return testing_errors::error_of(
      ErrorKind::kBadInput, [&] { return refuse_operators(program, 3, "stranger.et", allowed); });
}

TEST(OperatorTrust, BodiesAreLookedIntoAndTheMessageSaysWhatToDo) {
  Program program;
  Instruction inner;
  inner.name = "aten::from_file";
  inner.node_id = 17;
  Instruction outer;
  outer.name = "mine::op";
  outer.body = {{}, inner};
  outer.body[0].name = "aten::relu";
  program.instructions = {outer};
  EXPECT_EQ(refusal(program, {}),
            "an operator does more than compute\n"
            "  file:     stranger.et\n"
            "  rank:     3\n"
            "  node:     17\n"
            "  field:    instruction 0, body instruction 1\n"
            "  expected: operators that only compute\n"
            "  got:      aten::from_file: it opens the file that an argument names\n"
            "  hint:     If you trust whoever made it, --allow-operator aten::from_file lets it be "
            "called. What is refused and why: docs/trust.md.");
  EXPECT_EQ(refusal(program, {"aten::from_file"}), "no error");
}

TEST(OperatorTrust, AHarmlessNameWithAnotherSchemaIsJudgedByBoth) {
  Program program;
  program.schemas = {"aten::reader(str filename) -> Tensor"};
  Instruction instruction;
  instruction.name = "aten::relu";
  instruction.schema = 0;
  program.instructions = {instruction};
  EXPECT_NE(refusal(program, {}).find("its text argument 'filename'"), std::string::npos);
}

}  // namespace
}  // namespace understudy::et_schema
