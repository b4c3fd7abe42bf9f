// What is refused, with the whole message.

#include <gtest/gtest.h>

#include "reader_texts.h"

namespace understudy::et_schema {
namespace {

using namespace testing_texts;  // NOLINT(google-build-using-namespace)

std::string with_input(const std::string& value, const std::string& shape,
                       const std::string& type) {
  return trace_of({.id = 3,
                   .parent = 2,
                   .inputs = {.values = "[" + value + "]",
                              .shapes = "[" + shape + "]",
                              .types = "[\"" + type + "\"]"}});
}

TEST(TraceRefusal, EmptyFile) {
  EXPECT_EQ(parse_error(" \n"),
            "an empty file\n"
            "  file:     t.json\n"
            "  field:    the start of the file\n"
            "  expected: a JSON object with \"schema\" and \"nodes\"\n"
            "  got:      nothing\n"
            "  hint:     capture again, or look whether the copy was complete");
}

TEST(TraceRefusal, NotJson) {
  EXPECT_EQ(parse_error("rank 0 started"),
            "not JSON\n"
            "  file:     t.json\n"
            "  field:    the start of the file\n"
            "  expected: a JSON object with \"schema\" and \"nodes\"\n"
            "  got:      rank 0 started\n"
            "  hint:     give the file that torch.profiler.ExecutionTraceObserver wrote, or a "
            "Kineto profile");
  EXPECT_EQ(parse_error("{nodes: 1}"),
            "not JSON\n"
            "  file:     t.json\n"
            "  field:    the top level\n"
            "  expected: a quoted key\n"
            "  got:      nodes: 1}");
  EXPECT_EQ(parse_error("{\"nodes\" [1]}"),
            "not JSON\n"
            "  file:     t.json\n"
            "  field:    the top level\n"
            "  expected: \":\" after \"nodes\"\n"
            "  got:      [1]}");
}

TEST(TraceRefusal, ListOrBinary) {
  EXPECT_EQ(parse_error("[1, 2]"),
            "not a PyTorch execution trace\n"
            "  file:     t.json\n"
            "  field:    the start of the file\n"
            "  expected: a JSON object with \"schema\" and \"nodes\"\n"
            "  got:      [1, 2]\n"
            "  hint:     give the file that torch.profiler.ExecutionTraceObserver wrote, or a "
            "Kineto profile");
  EXPECT_EQ(parse_error(std::string("\x7f"
                                    "ELF\x02\x01\0",
                                    7)),
            "not JSON\n"
            "  file:     t.json\n"
            "  field:    the start of the file\n"
            "  expected: a JSON object with \"schema\" and \"nodes\"\n"
            "  got:      binary data\n"
            "  hint:     give a PyTorch execution trace, plain or gzipped");
}

TEST(TraceRefusal, ChakraProtobuf) {
  EXPECT_EQ(parse_error(std::string("\x5e\x12\x10\x0a\x06schema\xea\x01\x05"
                                    "1.0.1",
                                    18)),
            "not a PyTorch execution trace: this is a Chakra protobuf trace\n"
            "  file:     t.json\n"
            "  field:    the start of the file\n"
            "  expected: a JSON object with \"schema\" and \"nodes\"\n"
            "  got:      a Chakra protobuf\n"
            "  hint:     give the PyTorch execution trace (JSON) that it was converted from");
}

TEST(TraceRefusal, KinetoFile) {
  EXPECT_EQ(
      parse_error(R"({"schemaVersion": 1, "traceEvents": []})"),
      "not a PyTorch execution trace: this is a Kineto trace\n"
      "  file:     t.json\n"
      "  field:    schemaVersion\n"
      "  expected: a JSON object with \"schema\" and \"nodes\"\n"
      "  got:      a Kineto (chrome) trace\n"
      "  hint:     give the execution trace of the same run; inspect --device-time shows what "
      "a profile holds by itself");
}

TEST(TraceRefusal, AResultOfOurOwn) {
  EXPECT_EQ(parse_error(R"({"format": "understudy-report", "version": 3, "ranks": []})"),
            "not a PyTorch execution trace: this is a result of Understudy's own\n"
            "  file:     t.json\n"
            "  field:    format\n"
            "  expected: a JSON object with \"schema\" and \"nodes\"\n"
            "  got:      \"understudy-report\"\n"
            "  hint:     give the benchmark, or the traces, that it was made from");
}

TEST(TraceRefusal, UnknownSchema) {
  const std::string rest =
      "\n  hint:     this version of Understudy does not read it: look for a newer one";
  for (const char* schema : {"2.0.0", "1.2.0", "1.1", "1.1.x", "1.1.1-other", "", "11.0.1"}) {
    EXPECT_EQ(parse_error(trace(roots(), schema)),
              std::string("a schema that is not known\n"
                          "  file:     t.json\n"
                          "  field:    schema\n"
                          "  expected: 1.0.x or 1.1.x, alone or with -chakra.…\n"
                          "  got:      \"") +
                  schema + "\"" + rest);
  }
  EXPECT_EQ(parse_error(R"({"nodes": [{"id": 1, "name": "r"}]})"),
            "a schema that is not known\n"
            "  file:     t.json\n"
            "  field:    schema\n"
            "  expected: 1.0.x or 1.1.x, alone or with -chakra.…\n"
            "  got:      nothing" +
                rest);
}

TEST(TraceRefusal, NoNodes) {
  const std::string start =
      "a trace without nodes\n"
      "  file:     t.json\n"
      "  field:    nodes\n"
      "  expected: at least one node\n"
      "  got:      ";
  const std::string end =
      "\n  hint:     capture again: an ExecutionTraceObserver that was started and stopped writes "
      "them";
  EXPECT_EQ(parse_error(trace({})), start + "an empty list" + end);
  EXPECT_EQ(parse_error(R"({"schema": "1.0.1"})"), start + "nothing" + end);
  EXPECT_EQ(parse_error(R"({"schema": "1.0.1", "nodes": [{"id": 1, "na)"),
            start + "a file cut off before the end of its first node" + end);
}

TEST(TraceRefusal, NodesThatAreNoListOrNoObjects) {
  EXPECT_EQ(parse_error(R"({"schema": "1.0.1", "nodes": 5})"),
            "the nodes are no list\n"
            "  file:     t.json\n"
            "  field:    nodes\n"
            "  expected: an array\n"
            "  got:      5}");
  EXPECT_EQ(parse_error(R"({"schema": "1.0.1", "nodes": [1]})"),
            "a node is no object\n"
            "  file:     t.json\n"
            "  field:    nodes\n"
            "  expected: {\n"
            "  got:      1]}");
  EXPECT_EQ(parse_error(R"({"nodes": [], "nodes": []})"),
            "two lists of nodes\n"
            "  file:     t.json\n"
            "  field:    nodes\n"
            "  expected: one list\n"
            "  got:      a second one");
}

TEST(TraceRefusal, TextAfterTheEnd) {
  EXPECT_EQ(parse_error(trace(roots()) + "}"),
            "text after the end\n"
            "  file:     t.json\n"
            "  field:    the top level\n"
            "  expected: nothing after the last \"}\"\n"
            "  got:      }\n"
            "  hint:     where the file holds several, one after the other, give each as a file of "
            "its own");
}

TEST(TraceRefusal, DamageThatIsNotTheNames) {
  EXPECT_EQ(parse_error(R"({"schema": "1.0.1", "nodes": [{"id": 1, "name": "r", "parent": tru}]})"),
            "a node is no valid JSON\n"
            "  file:     t.json\n"
            "  field:    nodes\n"
            "  expected: JSON\n"
            "  got:      Problem while parsing an atom starting with the letter 't' in the node at "
            "byte 30: {\"id\": 1, \"name\": \"r\", \"parent\": tru}]}");
}

TEST(TraceRefusal, DuplicateIds) {
  std::vector<std::string> nodes = roots();
  nodes.push_back(node({.id = 5, .parent = 2, .name = "a"}));
  nodes.push_back(node({.id = 5, .parent = 2, .name = "b"}));
  EXPECT_EQ(parse_error(trace(nodes)),
            "two nodes have the same id\n"
            "  file:     t.json\n"
            "  node:     5\n"
            "  field:    id\n"
            "  expected: each id once\n"
            "  got:      a and b");
}

TEST(TraceRefusal, OwnAncestor) {
  std::vector<std::string> nodes = roots();
  nodes.push_back(node({.id = 5, .parent = 6}));
  nodes.push_back(node({.id = 6, .parent = 5}));
  EXPECT_EQ(parse_error(trace(nodes)),
            "a node is its own ancestor\n"
            "  file:     t.json\n"
            "  node:     5\n"
            "  field:    parent\n"
            "  expected: parents that lead to node 1\n"
            "  got:      a circle through node 6");
  EXPECT_EQ(parse_error(trace_of({.id = 3, .parent = 3})),
            "a node is its own ancestor\n"
            "  file:     t.json\n"
            "  node:     3\n"
            "  field:    parent\n"
            "  expected: parents that lead to node 1\n"
            "  got:      a circle through node 3");
}

TEST(TraceRefusal, FieldsThatAreMissingOrOfTheWrongType) {
  const std::string start = "a node cannot be read\n  file:     t.json\n";
  EXPECT_EQ(parse_error(R"({"schema": "1.0.1", "nodes": [{"name": "r"}]})"),
            start + "  field:    id\n  expected: an integer\n  got:      nothing");
  EXPECT_EQ(parse_error(R"({"schema": "1.0.1", "nodes": [{"id": 4}]})"),
            start + "  node:     4\n  field:    name\n  expected: a text\n  got:      nothing");
  EXPECT_EQ(parse_error(R"({"schema": "1.0.1", "nodes": [{"id": -1, "name": "r"}]})"),
            start + "  field:    id\n  expected: an integer from 0 to 2^64 - 1\n  got:      -1");
  EXPECT_EQ(parse_error(R"({"schema": "1.0.1", "nodes": [{"id": 4, "name": 7}]})"),
            start + "  node:     4\n  field:    name\n  expected: a text\n  got:      7");
  EXPECT_EQ(parse_error(R"({"schema": "1.0.1", "nodes": [{"id": 4, "name": "r", "attrs": [3]}]})"),
            start +
                "  node:     4\n  field:    attrs\n  expected: objects {\"name\", \"type\", "
                "\"value\"}\n  got:      3");
}

TEST(TraceRefusal, SizesThatOverflow) {
  EXPECT_EQ(
      parse_error(with_input("[5,6,0,4,4,\"cpu\"]", "[4294967296,4294967296]", "Tensor(float)")),
      "a tensor's sizes overflow\n"
      "  file:     t.json\n"
      "  node:     3\n"
      "  field:    inputs.shapes\n"
      "  expected: a product of the sizes below 2^63\n"
      "  got:      [4294967296, 4294967296]");
  EXPECT_EQ(
      parse_error(with_input("[5,6,0,0,4,\"cpu\"]", "[0,4294967296,4294967296]", "Tensor(float)")),
      "a tensor's sizes overflow\n"
      "  file:     t.json\n"
      "  node:     3\n"
      "  field:    inputs.shapes\n"
      "  expected: a product of the sizes below 2^63\n"
      "  got:      [0, 4294967296, 4294967296]");
  EXPECT_EQ(
      parse_error(with_input("[5,6,0,4611686018427387904,4,\"cpu\"]", "[4]", "Tensor(float)")),
      "a tensor's extent overflows\n"
      "  file:     t.json\n"
      "  node:     3\n"
      "  field:    inputs.values\n"
      "  expected: a last byte below 2^63\n"
      "  got:      4611686018427387904 elements of 4 bytes at offset 0");
  EXPECT_EQ(parse_error(with_input("[5,6,0,4,4,\"cpu\"]", "[-4]", "Tensor(float)")),
            "a tensor has a negative size\n"
            "  file:     t.json\n"
            "  node:     3\n"
            "  field:    inputs.shapes\n"
            "  expected: sizes of 0 or more\n"
            "  got:      -4");
  EXPECT_EQ(parse_error(with_input("[5,6,-1,4,4,\"cpu\"]", "[4]", "Tensor(float)")),
            "a tensor cannot be read\n"
            "  file:     t.json\n"
            "  node:     3\n"
            "  field:    inputs.values\n"
            "  expected: a number from 0 to 2^63 - 1\n"
            "  got:      -1");
  EXPECT_EQ(parse_error(with_input("18446744073709551615", "[]", "Int")),
            "an Int cannot be read\n"
            "  file:     t.json\n"
            "  node:     3\n"
            "  field:    inputs.values\n"
            "  expected: an integer below 2^63\n"
            "  got:      18446744073709551615");
}

TEST(TraceRefusal, StridesThatNoMemoryHas) {
  const auto with_strides = [](const std::string& sizes, const std::string& strides) {
    return trace_of({.id = 3,
                     .parent = 2,
                     .inputs = {.values = "[[5,6,0,4,4,\"cpu\"]]",
                                .shapes = "[" + sizes + "]",
                                .types = "[\"Tensor(float)\"]",
                                .strides = "[" + strides + "]"}});
  };
  EXPECT_EQ(parse_error(with_strides("[4]", "[-1]")),
            "a tensor has a negative stride\n"
            "  file:     t.json\n"
            "  node:     3\n"
            "  field:    inputs.strides\n"
            "  expected: strides of 0 or more\n"
            "  got:      -1");
  EXPECT_EQ(parse_error(with_strides("[2,2]", "[4611686018427387904,1]")),
            "a tensor's extent overflows\n"
            "  file:     t.json\n"
            "  node:     3\n"
            "  field:    inputs.values\n"
            "  expected: a last byte below 2^63\n"
            "  got:      4 elements of 4 bytes at offset 0");
}

TEST(TraceRefusal, ValuesShapesAndTypesOfDifferentLengths) {
  EXPECT_EQ(parse_error(
                trace_of({.id = 3,
                          .parent = 2,
                          .inputs = {.values = "[1,2]", .shapes = "[[]]", .types = "[\"Int\"]"}})),
            "values, shapes and types do not belong together\n"
            "  file:     t.json\n"
            "  node:     3\n"
            "  field:    inputs.values\n"
            "  expected: as many values as shapes and types\n"
            "  got:      2 values, 1 shapes, 1 types");
  EXPECT_EQ(parse_error(with_input("[1,2,3]", "[[],[],[]]", "GenericList[Int,Int]")),
            "values and types do not belong together\n"
            "  file:     t.json\n"
            "  node:     3\n"
            "  field:    inputs.types\n"
            "  expected: 3 types in the list\n"
            "  got:      2");
  EXPECT_EQ(parse_error(with_input("[1,2]", "[[],[],[]]", "GenericList[Int,Int]")),
            "values and shapes do not belong together\n"
            "  file:     t.json\n"
            "  node:     3\n"
            "  field:    inputs.shapes\n"
            "  expected: an array of 2, as many as the list has\n"
            "  got:      [[],[],[]]");
  EXPECT_EQ(parse_error(with_input("[1]", "[[]]", "GenericList[Int,Int]")),
            "values and types do not belong together\n"
            "  file:     t.json\n"
            "  node:     3\n"
            "  field:    inputs.types\n"
            "  expected: 1 types in the list, then \"]\"\n"
            "  got:      ,Int]");
}

TEST(TraceRefusal, TypesThatCannotBeRead) {
  EXPECT_EQ(parse_error(with_input("1", "[]", "Int]")),
            "a type cannot be read\n"
            "  file:     t.json\n"
            "  node:     3\n"
            "  field:    inputs.types\n"
            "  expected: a type such as \"GenericList[Tensor(float),None]\"\n"
            "  got:      Int]");
  EXPECT_EQ(parse_error(with_input("1", "[]", "")),
            "a type is empty\n"
            "  file:     t.json\n"
            "  node:     3\n"
            "  field:    inputs.types\n"
            "  expected: a type such as \"Int\"\n"
            "  got:      \"\"");
  EXPECT_EQ(parse_error(with_input("\"x\"", "[]", "Double")),
            "a Double cannot be read\n"
            "  file:     t.json\n"
            "  node:     3\n"
            "  field:    inputs.values\n"
            "  expected: a number, \"inf\", \"-inf\" or \"nan\"\n"
            "  got:      \"x\"");
  EXPECT_EQ(parse_error(with_input("[1,2]", "[]", "Tensor(float)")),
            "a tensor cannot be read\n"
            "  file:     t.json\n"
            "  node:     3\n"
            "  field:    inputs.values\n"
            "  expected: [tensor id, storage id, offset, elements, bytes of one, \"device\"]\n"
            "  got:      [1,2]");
}

TEST(TraceRefusal, NestingTooDeepIsFastWhereverItIs) {
  const std::string brackets(std::size_t{32} << 20U, '[');
  const std::string message =
      "brackets nested too deep\n"
      "  file:     t.json\n"
      "  field:    nodes\n"
      "  expected: at most 64 brackets inside each other\n"
      "  got:      more";
  EXPECT_EQ(parse_error(R"({"schema": )" + brackets), message);
  EXPECT_EQ(
      parse_error(R"({"schema": "1.0.1", "nodes": [{"id": 1, "name": "x", "inputs": )" + brackets),
      message);
}

}  // namespace
}  // namespace understudy::et_schema
