#include "argument_text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "call_text.h"
#include "testing/made_program.h"

namespace understudy::emitter {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::Program;
using testing_programs::numbers;

std::string text_of(const Argument& argument, std::string_view type) {
  return argument_text(argument, type, {}, [](auto slot) { return "t" + std::to_string(slot); });
}

TEST(ArgumentText, FollowsTheTypeInTheSchema) {
  EXPECT_EQ(text_of({Argument::SlotRef{3}}, "Tensor(a!)"), "t3");
  EXPECT_EQ(text_of({Argument::None{}}, "Tensor?"), "None");
  EXPECT_EQ(text_of({Argument::Undefined{}}, "Tensor"), "None");
  EXPECT_EQ(text_of({0.5}, "Tensor"), "0.5");
  EXPECT_EQ(text_of({std::int64_t{6}}, "ScalarType?"), "torch.float32");
  EXPECT_EQ(text_of({std::int64_t{44}}, "ScalarType"), "torch.float8_e8m0fnu");
  EXPECT_EQ(text_of({std::int64_t{1}}, "Layout?"), "torch.sparse_coo");
  EXPECT_EQ(text_of({std::int64_t{2}}, "MemoryFormat?"), "torch.channels_last");
  EXPECT_EQ(text_of(numbers({1, 2}), "SymInt[]"), "[1, 2]");
  EXPECT_EQ(text_of({std::int64_t{3}}, "int[2]"), "[3, 3]");
  EXPECT_EQ(text_of({std::int64_t{1}}, "float"), "1.0");
  EXPECT_EQ(text_of({std::string("a\"b\\")}, "str"), "\"a\\\"b\\\\\"");
  EXPECT_EQ(text_of({true}, "bool"), "True");
  EXPECT_EQ(text_of({Argument::List(5, Argument{0.5})}, "Scalar[]"), "[0.5] * 5");
}

TEST(ArgumentText, RealNumbersReadBackAsTheSame) {
  EXPECT_EQ(real_text(0.1), "0.1");
  EXPECT_EQ(real_text(1e-8), "1e-08");
  EXPECT_EQ(real_text(-2), "-2.0");
  EXPECT_EQ(real_text(INFINITY), "float(\"inf\")");
}

TEST(ArgumentText, RefusesWhatTheTraceDoesNotTell) {
  try {
    static_cast<void>(text_of({Argument::Opaque{"Stream"}}, "Stream"));
    FAIL() << "nothing was refused";
  } catch (const CannotShow& cannot) {
    EXPECT_EQ(cannot.reason, "an argument of type Stream, of which the trace tells too little");
  }
}

std::string call(const std::string& schema, std::vector<Argument> args) {
  Program program;
  program.schemas = {schema};
  Instruction instruction;
  instruction.name = schema.substr(0, schema.find('('));
  instruction.schema = 0;
  instruction.args = std::move(args);
  const DeviceText devices;
  CallWriter writer(program, devices);
  int next = 0;
  return writer
      .write(instruction, [&](auto) { return std::string(1, static_cast<char>('a' + next++)); })
      .expression;
}

const Argument kTensor = {Argument::SlotRef{0}};

TEST(CallText, PassesByNameWhatStandsBehindTheStar) {
  EXPECT_EQ(call("aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
                 {kTensor, kTensor, {Argument::None{}}}),
            "aten.linear.default(a, b, None)");
  EXPECT_EQ(
      call("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
           {kTensor, kTensor, {-0.01}}),
      "aten.add_.Tensor(a, b, alpha=-0.01)");
  EXPECT_EQ(call("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
                 {kTensor, kTensor, {std::int64_t{1}}}),
            "aten.add.Tensor(a, b, alpha=1)");
  EXPECT_EQ(call("aten::softmax.int(Tensor self, int dim, ScalarType? dtype=6) -> Tensor",
                 {kTensor, {std::int64_t{1}}, {std::int64_t{6}}}),
            "aten.softmax.int(a, 1, torch.float32)");
}

TEST(CallText, PythonsWordsAreNoNames) {
  EXPECT_EQ(call("aten::random_.from(Tensor(a!) self, int from, int? to, *, Generator? "
                 "generator=None) -> Tensor(a!)",
                 {kTensor, {std::int64_t{0}}, {std::int64_t{9}}, {Argument::None{}}}),
            "getattr(aten.random_, \"from\")(a, 0, 9)");
  EXPECT_EQ(call("mine::op(Tensor x, *, int lambda) -> Tensor", {kTensor, {std::int64_t{4}}}),
            "mine.op.default(a, **{\"lambda\": 4})");
}

std::string refusal(const std::string& schema, std::vector<Argument> args) {
  try {
    return call(schema, std::move(args));
  } catch (const CannotShow& cannot) {
    return cannot.reason;
  }
}

TEST(CallText, SaysWhatASchemaCannotBeCalledFor) {
  const std::string begin = "its schema cannot be called: ";
  EXPECT_EQ(refusal("mine::op\n(Tensor x) -> Tensor", {kTensor}),
            begin + "\"mine::op\\n\" is no operator's name");
  EXPECT_EQ(refusal("mine::op(Tensor x) -> Tensor", {kTensor, {true}}),
            begin + "it takes 1 arguments, the trace has 2");
  EXPECT_EQ(refusal("mine(Tensor x) -> Tensor", {kTensor}),
            begin + "\"mine\" is no operator's name");
  EXPECT_EQ(refusal("mine::op(Tensor x, Object o) -> Tensor", {kTensor, {Argument::None{}}}),
            "an argument of type Object, of which the trace tells too little");
  // What --obfuscate leaves of a text that was a default is no hindrance: defaults are not called.
  EXPECT_EQ(refusal("private::op1(Tensor arg0, int arg1, str arg2=, int arg3=3) -> Tensor",
                    {kTensor, {std::int64_t{1}}, {std::string("text1")}, {std::int64_t{3}}}),
            "private.op1.default(a, 1, \"text1\", 3)");
}

TEST(CallText, EpsilonsThatTheTraceLostAreThoseOfTheOperator) {
  EXPECT_EQ(
      call("aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "
           "Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor",
           {kTensor, numbers({8}), kTensor, kTensor, {0.0}, {true}}),
      "aten.layer_norm.default(a, [8], b, c, 1e-05, True)");
}

TEST(CallText, NamespacesAreDeclaredUnderNamesOfTheirOwn) {
  Program program;
  program.schemas = {"torch::op.a(Tensor x) -> Tensor", "torch_::op(Tensor x) -> Tensor",
                     "t5::op(Tensor x) -> Tensor", "aten::relu(Tensor self) -> Tensor"};
  const DeviceText devices{.has_accelerator = true};
  CallWriter writer(program, devices);
  std::vector<std::string> calls;
  for (et_schema::SchemaId schema = 0; schema < program.schemas.size(); ++schema) {
    Instruction instruction;
    instruction.schema = schema;
    instruction.args = {kTensor};
    calls.push_back(writer.write(instruction, [](auto) { return std::string("t0"); }).expression);
  }
  EXPECT_EQ(calls, (std::vector<std::string>{"torch_.op.a(t0)", "torch__.op.default(t0)",
                                             "t5_.op.default(t0)", "aten.relu.default(t0)"}));
  EXPECT_EQ(writer.declarations(),
            "[aten, t5_, torch_, torch__] = bench.operators(\n    \"aten::relu\",\n    "
            "\"t5::op\",\n    \"torch::op.a\",\n    \"torch_::op\",\n    "
            "places=[\"cpu\"],\n)\n");
}

}  // namespace
}  // namespace understudy::emitter
