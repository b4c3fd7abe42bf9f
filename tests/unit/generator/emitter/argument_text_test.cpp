#include "argument_text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "call_text.h"
#include "foreign_text.h"
#include "names.h"
#include "source_text.h"
#include "testing/made_program.h"

namespace understudy::emitter {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::Program;
using testing_programs::numbers;

std::string text_of(const Argument& argument, std::string_view type) {
  const NextTensor next = [] { return std::string("x"); };
  return argument_text(argument, type, {}, next);
}

TEST(ArgumentText, FollowsTheTypeInTheSchema) {
  EXPECT_EQ(text_of({Argument::SlotRef{3}}, "Tensor(a!)"), "x");
  EXPECT_EQ(text_of({Argument::None{}}, "Tensor?"), "None");
  EXPECT_EQ(text_of({Argument::Undefined{}}, "Tensor"), "None");
  EXPECT_EQ(text_of({0.5}, "Tensor"), "bench.number(0.5)");
  EXPECT_EQ(text_of({std::int64_t{6}}, "ScalarType?"), "torch.float32");
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

TEST(ArgumentText, KnowsDefaults) {
  EXPECT_TRUE(is_default({Argument::None{}}, "None"));
  EXPECT_TRUE(is_default({std::int64_t{1}}, "1"));
  EXPECT_TRUE(is_default({1e-5}, "1e-05"));
  EXPECT_TRUE(is_default({false}, "False"));
  EXPECT_FALSE(is_default({1.0}, "1"));  // an integer there
  EXPECT_FALSE(is_default({Argument::None{}}, ""));
}

std::string call(const std::string& schema, std::vector<Argument> args) {
  Program program;
  program.schemas = {schema};
  Instruction instruction;
  instruction.name = schema.substr(0, schema.find('('));
  instruction.schema = 0;
  instruction.args = std::move(args);
  Calls calls;
  CallWriter writer(program, {}, calls);
  int next = 0;
  return writer.write(instruction, [&] { return std::string(1, static_cast<char>('a' + next++)); })
      .expression;
}

const Argument kTensor = {Argument::SlotRef{0}};

TEST(CallText, PassesByNameWhatIsNoDefault) {
  EXPECT_EQ(call("aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
                 {kTensor, kTensor, {Argument::None{}}}),
            "ops[\"aten::linear\"](a, b, None)");
  EXPECT_EQ(
      call("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
           {kTensor, kTensor, {-0.01}}),
      "ops[\"aten::add_.Tensor\"](a, b, alpha=-0.01)");
  EXPECT_EQ(call("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
                 {kTensor, kTensor, {std::int64_t{1}}}),
            "ops[\"aten::add.Tensor\"](a, b)");
  EXPECT_EQ(call("aten::softmax.int(Tensor self, int dim, ScalarType? dtype=6) -> Tensor",
                 {kTensor, {std::int64_t{1}}, {std::int64_t{6}}}),
            "ops[\"aten::softmax.int\"](a, 1, torch.float32)");
}

TEST(CallText, PythonsWordsAreNoNames) {
  EXPECT_EQ(call("aten::random_.from(Tensor(a!) self, int from, int? to, *, Generator? "
                 "generator=None) -> Tensor(a!)",
                 {kTensor, {std::int64_t{0}}, {std::int64_t{9}}, {Argument::None{}}}),
            "ops[\"aten::random_.from\"](a, 0, 9)");
  EXPECT_EQ(call("mine::op(Tensor x, *, int lambda) -> Tensor", {kTensor, {std::int64_t{4}}}),
            "ops[\"mine::op\"](a, **{\"lambda\": 4})");
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
  EXPECT_EQ(refusal("mine::op(Tensor x, int[99999999999] n) -> Tensor", {kTensor, {true}}),
            begin + "\"int[99999999999]\" is no type of an argument");
  EXPECT_EQ(refusal("mine::op(Tensor x, Object o) -> Tensor", {kTensor, {Argument::None{}}}),
            begin + "\"Object\" is no type of an argument");
  // What --obfuscate leaves of a text that was a default is no hindrance: defaults are not called.
  EXPECT_EQ(refusal("private::op1(Tensor arg0, int arg1, str arg2=, int arg3=3) -> Tensor",
                    {kTensor, {std::int64_t{1}}, {std::string("text1")}, {std::int64_t{3}}}),
            "ops[\"private::op1\"](a, 1, \"text1\", 3)");
}

TEST(CallText, EpsilonsThatTheTraceLostAreThoseOfTheOperator) {
  EXPECT_EQ(
      call("aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "
           "Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor",
           {kTensor, numbers({8}), kTensor, kTensor, {0.0}, {true}}),
      "ops[\"aten::layer_norm\"](a, [8], b, c, 1e-05, True)");
}

TEST(Names, AreWordsOfTheLanguage) {
  EXPECT_EQ(identifier("aten::mm.out"), "aten_mm_out");
  EXPECT_EQ(identifier("2d"), "x2d");
  EXPECT_EQ(identifier("lambda"), "lambda_");
  EXPECT_EQ(identifier("Named"), "Named_");
  EXPECT_EQ(identifier("…"), "x");
  EXPECT_EQ(operator_word("aten::_log_softmax.int"), "log_softmax");
  EXPECT_EQ(operator_word("aten::t"), "transposed");
  NameBook book;
  EXPECT_EQ(book.take("relu"), "relu");
  EXPECT_EQ(book.take("relu"), "relu2");
}

TEST(SourceText, BreaksBehindCommasOutsideOfTexts) {
  const std::string text(60, 'x');
  EXPECT_EQ(wrapped("  f(" + text + ", \"a, b, c, d, e, f, g, h, i, j, k, l, m\", " + text + ");"),
            "  f(" + text + ",\n      \"a, b, c, d, e, f, g, h, i, j, k, l, m\",\n      " + text +
                ");\n");
}

TEST(SourceText,
     KnowsWhereATextEnds) {  // not at the escaped quote, but behind the escaped backslash
  const std::string text(90, 'x');
  EXPECT_EQ(wrapped("f(\"a\\\", b\\\\\", " + text + ")"),
            "f(\"a\\\", b\\\\\",\n    " + text + ")\n");
}

TEST(SourceText, KeepsCommentsInOneLine) {
  const std::string text = " " + std::string(60, 'x') + ", " + std::string(60, 'y');
  EXPECT_EQ(wrapped("    #" + text), "    #" + text + "\n");
}

TEST(SourceText, KeepsTheNamesOfAnAssignmentInOneLine) {  // Python ends a statement behind them
  const std::string names = std::string(20, 'a') + ", " + std::string(20, 'b');
  const std::string argument(70, 'x');
  EXPECT_EQ(wrapped("    " + names + " = f(" + argument + ", [1, 2])"),
            "    " + names + " = f(\n        " + argument + ", [1, 2])\n");
}

}  // namespace
}  // namespace understudy::emitter
