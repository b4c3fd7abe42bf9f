// What is refused, with the whole message.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "et_schema/base/input_files.h"
#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/formats/pytorch_et/trace_reader.h"
#include "reader_texts.h"
#include "testing/error_text.h"

namespace understudy::et_schema {
namespace {

using testing_errors::told;
using namespace testing_texts;  // NOLINT(google-build-using-namespace)

std::string with_input(const std::string& value, const std::string& shape,
                       const std::string& type) {
  return trace_of({.id = 3,
                   .parent = 2,
                   .inputs = {.values = "[" + value + "]",
                              .shapes = "[" + shape + "]",
                              .types = "[\"" + type + "\"]"}});
}

TEST(TraceRefusal, NotJson) {
  EXPECT_EQ(parse_error("{nodes: 1}"), told("not JSON", "file: t.json", "field: the top level",
                                            "expected: JSON", "got: nodes: 1}"));
  EXPECT_EQ(parse_error("{\"nodes\" [1]}"), told("not JSON", "file: t.json", "field: the top level",
                                                 "expected: JSON", "got: [1]}"));
}

TEST(TraceRefusal, ListOrBinary) {
  EXPECT_EQ(parse_error("[1, 2]"),
            told("not a PyTorch execution trace", "file: t.json", "field: the start of the file",
                 "expected: a JSON object with \"schema\" and \"nodes\"", "got: [1, 2]",
                 "hint: give the file that torch.profiler.ExecutionTraceObserver wrote, or a "
                 "Kineto profile"));
  EXPECT_EQ(parse_error(std::string("\x7f"
                                    "ELF\x02\x01\0",
                                    7)),
            told("not JSON", "file: t.json", "field: the start of the file",
                 "expected: a JSON object with \"schema\" and \"nodes\"", "got: binary data",
                 "hint: give a PyTorch execution trace, plain or gzipped"));
}

/// A message's key and length before its bytes.
std::string message(char key, const std::string& bytes) {
  return std::string{key, static_cast<char>(bytes.size())} + bytes;
}

TEST(TraceRefusal, FilesOfOtherTools) {
  static constexpr const char* kRecord =
      "record the step with understudy capture, or with torch.profiler.profile and "
      "export_chrome_trace()";
  const auto no_arguments = "it holds no operators with their arguments";
  struct Case {
    std::string name, start, got, reason, hint = kRecord;
  };
  const std::vector<Case> cases = {
      {"a.sqlite", std::string("SQLite format 3\0\x10", 17),
       "an SQLite database, as Nsight Systems exports", no_arguments},
      {"a.nsys-rep", "\x01\x02", "a report of Nsight Systems", no_arguments},
      {"a.ncu-rep", "\x01\x02", "a report of Nsight Compute", no_arguments,
       "ncu --import FILE --csv --page raw writes what --counters takes"},
      {"m.pickle", "\x80\x04\x95\x01\x02}\x94(\x8c\x08segments\x94]\x94",
       "a memory snapshot of PyTorch", "it holds allocations alone"},
      {"nccl_trace_rank_0",
       "\x80\x02}q\x01(X\x07version X\x09pg_config X\x07"
       "entries",
       "a record of PyTorch's flight recorder", "it holds collectives alone"},
      {"fr.json", R"({"version": "2.9", "entries": [{"collective_seq_id": 1}]})",
       "a record of PyTorch's flight recorder", "it holds collectives alone"},
      {"w.pkl", "\x80\x05K\x01.", "a pickle of Python", "traces are JSON"},
      {"h.xplane.pb", message('\n', "\x08\x01" + message('\x12', "/host:CPU")),
       "a profile of XLA (.xplane.pb)", "it holds no operators of PyTorch"},
      {"p.pftrace", message('\n', "\x32\x02\x08\x06\x50\x01") + message('\n', "\x50\x01"),
       "a trace of Perfetto", no_arguments,
       "give the JSON that export_chrome_trace() of torch.profiler wrote"}};
  for (const Case& other : cases) {
    EXPECT_EQ(error_of([&] {
                read_input_bytes(other.start, other.name, process_limits(), [](InputFile&&) {});
              }),
              told("not a trace or profile: " + other.reason, "file: " + other.name,
                   "field: the start of the file",
                   "expected: a PyTorch execution trace, a Kineto profile or a Chakra trace",
                   "got: " + other.got, "hint: " + other.hint));
  }
}

TEST(TraceRefusal, ChakraProtobuf) {
  EXPECT_EQ(parse_error(std::string("\x5e\x12\x10\x0a\x06schema\xea\x01\x05"
                                    "1.0.1",
                                    18)),
            told("not a PyTorch execution trace: this is a Chakra protobuf trace", "file: t.json",
                 "field: the start of the file",
                 "expected: a JSON object with \"schema\" and \"nodes\"", "got: a Chakra protobuf",
                 "hint: give the PyTorch execution trace (JSON) that it was converted from"));
}

TEST(TraceRefusal, KinetoFile) {
  EXPECT_EQ(parse_error(R"({"schemaVersion": 1, "traceEvents": []})"),
            told("not a PyTorch execution trace: this is a Kineto trace", "file: t.json",
                 "field: schemaVersion", "expected: a JSON object with \"schema\" and \"nodes\"",
                 "got: a Kineto (chrome) trace",
                 "hint: give the execution trace of the same run; understudy inspect --device-time "
                 "shows a profile"));
}

TEST(TraceRefusal, AResultOfOurOwn) {
  EXPECT_EQ(
      parse_error(R"({"format": "understudy-report", "version": 3, "ranks": []})"),
      told("not a PyTorch execution trace: this is a result of Understudy's own", "file: t.json",
           "field: format", "expected: a JSON object with \"schema\" and \"nodes\"",
           "got: \"understudy-report\"",
           "hint: give the benchmark, or the traces, that it was made from"));
}

TEST(TraceRefusal, UnknownSchema) {
  const std::string rest =
      "\n  hint:     this version of Understudy does not read it: look for a newer one";
  for (const char* schema : {"2.0.0", "1.2.0", "1.1", "1.1.x", "1.1.1-other", "", "11.0.1"}) {
    EXPECT_EQ(parse_error(trace(roots(), schema)),
              std::string(told("a schema that is not known", "file: t.json", "field: schema",
                               "expected: 1.0.x or 1.1.x, alone or with -chakra.…", "got: \"")) +
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
  const std::string start = told("a trace without nodes", "file: t.json", "field: nodes",
                                 "expected: at least one node", "got: ");
  const std::string end =
      "\n  hint:     capture again: an ExecutionTraceObserver that was started and stopped writes "
      "them";
  EXPECT_EQ(parse_error(trace({})), start + "an empty list" + end);
  EXPECT_EQ(parse_error(R"({"schema": "1.0.1"})"), start + "nothing" + end);
  EXPECT_EQ(parse_error(R"({"schema": "1.0.1", "nodes": [{"id": 1, "na)"),
            start + "a file cut off before the end of its first node" + end);
}

TEST(TraceRefusal, NodesThatAreNoListOrNoObjects) {
  EXPECT_EQ(parse_error(R"({"schema": "1.0.1", "nodes": [1]})"),
            told("a node is no object", "file: t.json", "field: nodes", "expected: {", "got: 1]}"));
  EXPECT_EQ(parse_error(R"({"nodes": [], "nodes": []})"),
            told("two lists of nodes", "file: t.json", "field: nodes", "expected: one list",
                 "got: a second one"));
}

TEST(TraceRefusal, TextAfterTheEnd) {
  EXPECT_EQ(parse_error(trace(roots()) + "}"),
            told("text after the end", "file: t.json", "field: the top level",
                 "expected: nothing after the last bracket", "got: }"));
}

TEST(TraceRefusal, DamageThatIsNotTheNames) {
  EXPECT_EQ(parse_error(R"({"schema": "1.0.1", "nodes": [{"id": 1, "name": "r", "parent": tru}]})"),
            told("a node is no valid JSON", "file: t.json", "field: nodes", "expected: JSON",
                 "got: Problem while parsing an atom starting with the letter 't' in the node at "
                 "byte 30: {\"id\": 1, \"name\": \"r\", \"parent\": tru}]}"));
}

TEST(TraceRefusal, OwnAncestor) {
  EXPECT_EQ(parse_error(trace_of({{.id = 5, .parent = 6}, {.id = 6, .parent = 5}})),
            told("a node is its own ancestor", "file: t.json", "node: 5", "field: parent",
                 "expected: parents that lead to node 1", "got: a circle through node 6"));
}

TEST(TraceRefusal, FieldsThatAreMissingOrOfTheWrongType) {
  const std::string start = "a node cannot be read\n  file:     t.json\n";
  EXPECT_EQ(parse_error(R"({"schema": "1.0.1", "nodes": [{"name": "r"}]})"),
            start + "  field:    id\n  expected: an integer\n  got:      nothing");
  EXPECT_EQ(parse_error(R"({"schema": "1.0.1", "nodes": [{"id": 4}]})"),
            start + "  node:     4\n  field:    name\n  expected: a text\n  got:      nothing");
  EXPECT_EQ(parse_error(R"({"schema": "1.0.1", "nodes": [{"id": 4, "name": 7}]})"),
            start + "  node:     4\n  field:    name\n  expected: a text\n  got:      7");
  EXPECT_EQ(parse_error(R"({"schema": "1.0.1", "nodes": [{"id": 4, "name": "r", "attrs": [3]}]})"),
            start +
                "  node:     4\n  field:    attrs\n  expected: objects {\"name\", \"type\", "
                "\"value\"}\n  got:      3");
}

TEST(TraceRefusal, SizesThatOverflow) {
  EXPECT_EQ(
      parse_error(with_input("[5,6,0,0,4,\"cpu\"]", "[0,4294967296,4294967296]", "Tensor(float)")),
      told("a tensor's sizes overflow", "file: t.json", "node: 3", "field: inputs.shapes",
           "expected: a product of the sizes below 2^63", "got: [0, 4294967296, 4294967296]"));
  EXPECT_EQ(parse_error(with_input("[5,6,-1,4,4,\"cpu\"]", "[4]", "Tensor(float)")),
            told("a tensor cannot be read", "file: t.json", "node: 3", "field: inputs.values",
                 "expected: a number from 0 to 2^63 - 1", "got: -1"));
  EXPECT_EQ(parse_error(with_input("18446744073709551615", "[]", "Int")),
            told("an Int cannot be read", "file: t.json", "node: 3", "field: inputs.values",
                 "expected: an integer below 2^63", "got: 18446744073709551615"));
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
            told("a tensor has a negative stride", "file: t.json", "node: 3",
                 "field: inputs.strides", "expected: strides of 0 or more", "got: -1"));
  EXPECT_EQ(parse_error(with_strides("[2,2]", "[4611686018427387904,1]")),
            told("a tensor's extent overflows", "file: t.json", "node: 3", "field: inputs.values",
                 "expected: a last byte below 2^63", "got: 4 elements of 4 bytes at offset 0"));
}

TEST(TraceRefusal, ValuesShapesAndTypesOfDifferentLengths) {
  EXPECT_EQ(parse_error(with_input("[1,2,3]", "[[],[],[]]", "GenericList[Int,Int]")),
            told("values and types do not belong together", "file: t.json", "node: 3",
                 "field: inputs.types", "expected: 3 types in the list", "got: 2"));
  EXPECT_EQ(parse_error(with_input("[1,2]", "[[],[],[]]", "GenericList[Int,Int]")),
            told("values and shapes do not belong together", "file: t.json", "node: 3",
                 "field: inputs.shapes", "expected: an array of 2, as many as the list has",
                 "got: [[],[],[]]"));
  EXPECT_EQ(parse_error(with_input("[1]", "[[]]", "GenericList[Int,Int]")),
            told("values and types do not belong together", "file: t.json", "node: 3",
                 "field: inputs.types", "expected: 1 types in the list, then \"]\"", "got: ,Int]"));
}

TEST(TraceRefusal, TypesThatCannotBeRead) {
  EXPECT_EQ(parse_error(with_input("1", "[]", "Int]")),
            told("a type cannot be read", "file: t.json", "node: 3", "field: inputs.types",
                 "expected: a type such as \"GenericList[Tensor(float),None]\"", "got: Int]"));
  EXPECT_EQ(parse_error(with_input("1", "[]", "")),
            told("a type is empty", "file: t.json", "node: 3", "field: inputs.types",
                 "expected: a type such as \"Int\"", "got: \"\""));
  EXPECT_EQ(parse_error(with_input("\"x\"", "[]", "Double")),
            told("a Double cannot be read", "file: t.json", "node: 3", "field: inputs.values",
                 "expected: a number, \"inf\", \"-inf\" or \"nan\"", "got: \"x\""));
}

TEST(TraceRefusal, NestingTooDeepIsFastWhereverItIs) {
  const std::string brackets(std::size_t{32} << 20U, '[');
  const std::string message = told("brackets nested too deep", "file: t.json", "field: nodes",
                                   "expected: at most 64 brackets inside each other", "got: more");
  EXPECT_EQ(parse_error(R"({"schema": )" + brackets), message);
  EXPECT_EQ(
      parse_error(R"({"schema": "1.0.1", "nodes": [{"id": 1, "name": "x", "inputs": )" + brackets),
      message);
}

}  // namespace
}  // namespace understudy::et_schema
