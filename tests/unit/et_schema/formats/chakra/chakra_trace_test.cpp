// The execution trace that a Chakra file holds.

#include "et_schema/formats/pytorch_et/chakra_trace.h"

#include <gtest/gtest.h>

#include "chakra_texts.h"
#include "et_schema/formats/pytorch_et/comm_calls.h"
#include "et_schema/formats/pytorch_et/trace_files.h"
#include "reader_texts.h"

namespace understudy::et_schema {
namespace {

using namespace testing_chakra;  // NOLINT(google-build-using-namespace)
using testing_texts::TemporaryFolder;

constexpr const char* kMm = "aten::mm(Tensor self, Tensor mat2) -> Tensor";

Trace trace_of(const std::vector<NodeText>& nodes, std::int64_t world_size = 1) {
  std::vector<std::string> messages;
  for (const NodeText& text : nodes) {
    messages.push_back(node(text));
  }
  return trace_of_chakra(parse_chakra(file(messages), "c.et"), world_size);
}

std::vector<std::string> names_of(const Trace& trace) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i < trace.nodes.size(); ++i) {
    names.emplace_back(trace.nodes[i].name);
  }
  return names;
}

NodeText device(std::uint64_t id, std::uint64_t launcher, std::uint64_t duration_us) {
  NodeText text{.id = id, .name = "kernel", .data_deps = {launcher}, .duration_us = duration_us};
  text.attributes = {boolean("is_cpu_op", false), int64("stream", 7)};
  return text;
}

TEST(ChakraTrace, ControlCharactersOfNamesAreEscapedAndCounted) {
  const Trace trace = trace_of({host(5, "a\x1b[31m\nb", kMm, 1)});
  EXPECT_EQ(names_of(trace), std::vector<std::string>{R"(a\u001b[31m\u000ab)"});
  EXPECT_EQ(trace.losses[Loss::kEscapedNames], 1U);
}

TEST(ChakraTrace, ArgumentsOfAnOperator) {
  NodeText mm = host(5, "aten::mm", kMm, 1);
  mm.inputs = {"[[1, 2, 0, 8, 4, 'cuda:0'], [3, 4, 0, 4, 4, 'cuda:0'], '<None>', 1.5, 'a']",
               "[[4, 2], [2, 2], [], [], []]",
               "['Tensor(float)', 'Tensor(float)', 'None', 'Double', 'String']"};
  mm.outputs = {"[[5, 6, 0, 8, 4, 'cuda:0']]", "[[4, 2]]", "['Tensor(float)']"};
  mm.attributes.push_back(text("input_strides", "[[2, 1], [2, 1], [], [], []]"));
  const Trace trace = trace_of({mm});
  ASSERT_EQ(trace.nodes.size(), 2U);
  const Node& node = trace.nodes[1];
  EXPECT_EQ(node.id, 5U);
  EXPECT_EQ(node.op_schema, kMm);
  ASSERT_EQ(node.inputs.size(), 5U);
  EXPECT_TRUE(node.inputs[0].tensor().has_strides);
  EXPECT_EQ(node.inputs[0].tensor().sizes[0], 4);
  EXPECT_EQ(node.inputs[1].tensor().storage_id, 4);
  EXPECT_TRUE(node.inputs[2].is(ValueKind::kNone));
  EXPECT_EQ(node.inputs[3].as_double(), 1.5);
  EXPECT_EQ(node.inputs[4].text(), "a");
  EXPECT_FALSE(node.outputs[0].tensor().has_strides);
  EXPECT_TRUE(trace.losses.nonzero().empty());
  EXPECT_TRUE(trace.own_times.empty());
}

TEST(ChakraTrace, PartsOfAnOperatorAreOneNodeAgain) {
  NodeText first = host(5, "aten::mm(0)", kMm, 9);
  NodeText second = host(7, "aten::mm(1)", kMm, 9);
  NodeText other = host(8, "aten::mm(0)", kMm, 10);
  first.duration_us = 3;
  second.duration_us = 4;
  other.duration_us = 5;
  const Trace trace = trace_of({first, device(6, 5, 30), second, other, device(9, 7, 40)});
  EXPECT_EQ(names_of(trace), (std::vector<std::string>{"aten::mm", "aten::mm(0)"}));
  ASSERT_EQ(trace.own_times.size(), 3U);
  EXPECT_EQ(trace.own_times[1]->self_ns, 7000);
  EXPECT_EQ(trace.own_times[1]->device_ns, 70000);
  EXPECT_EQ(trace.own_times[1]->launches, 2U);
  EXPECT_EQ(trace.own_times[1]->stream, 7);
  EXPECT_EQ(trace.own_times[2]->self_ns, 5000);
  EXPECT_EQ(trace.losses[Loss::kAssumedStarts], 2U);
}

TEST(ChakraTrace, NodesInAnyOrderOfTheFile) {
  const Trace trace = trace_of({host(9, "aten::c", kMm, 3), host(5, "aten::a", kMm, 1),
                                device(10, 5, 1), host(7, "aten::b", kMm, 2)});
  EXPECT_EQ(names_of(trace), (std::vector<std::string>{"aten::a", "aten::b", "aten::c"}));
}

TEST(ChakraTrace, ControlDependenciesAreParents) {
  NodeText child = host(6, "aten::t", "aten::t(Tensor self) -> Tensor", 2);
  child.ctrl_deps = {5};
  const Trace trace = trace_of({host(5, "aten::linear", kMm, 1), child});
  EXPECT_EQ(trace.nodes[trace.nodes[2].parent].name, "aten::linear");
  EXPECT_TRUE(trace.losses.nonzero().empty());
}

TEST(ChakraTrace, ControlDependenciesThatCannotBeParents) {
  // On a later node, on a device node, on two nodes, on itself: each spoils those of the file.
  NodeText child = host(6, "aten::t", "aten::t(Tensor self) -> Tensor", 2);
  child.ctrl_deps = {5};
  for (const std::vector<std::uint64_t>& deps : {std::vector<std::uint64_t>{9}, {8}, {5, 6}, {7}}) {
    NodeText odd = host(7, "aten::u", kMm, 3);
    odd.ctrl_deps = deps;
    const Trace trace = trace_of(
        {host(5, "aten::linear", kMm, 1), child, odd, device(8, 5, 0), host(9, "aten::v", kMm, 4)});
    EXPECT_EQ(trace.nodes[2].parent, 0U);
    EXPECT_EQ(trace.losses[Loss::kStaleControlEdges], 1 + deps.size());
  }
}

TEST(ChakraTrace, DependenciesOnNodesThatAreNotThere) {
  NodeText mm = host(5, "aten::mm", kMm, 1);
  mm.ctrl_deps = {3};
  mm.data_deps = {2, 99};
  const Trace trace = trace_of({mm});
  EXPECT_EQ(trace.losses[Loss::kMissingNodes], 3U);
  EXPECT_EQ(trace.nodes[1].parent, 0U);
}

TEST(ChakraTrace, IdsFromZeroAreShifted) {
  const Trace trace = trace_of({host(0, "aten::a", kMm, 1), host(1, "aten::b", kMm, 2)});
  EXPECT_EQ(trace.nodes[1].id, 2U);
  EXPECT_EQ(trace.nodes[2].id, 3U);
}

TEST(ChakraTrace, NodesOfATimeAlone) {
  NodeText compute{.id = 3, .name = "COMP_NODE", .duration_us = 10};
  compute.attributes = {boolean("is_cpu_op", false)};
  const Trace trace = trace_of({compute, {.id = 4, .name = "bare"}});
  EXPECT_EQ(trace.losses[Loss::kTimeOnlyNodes], 1U);
  EXPECT_EQ(trace.nodes[1].name, "chakra::COMP_NODE") << "work of a simulator's file";
  EXPECT_EQ(classify(trace.nodes[2]), NodeClass::kLabel);
}

TEST(ChakraTrace, BuffersOfSyntheticCollectives) {
  struct Case {
    std::int64_t type;
    CommKind kind;
    std::vector<std::int64_t> inputs;
    std::vector<std::int64_t> outputs;
  };
  // Of 64 bytes on 4 ranks, as rank 0 has them; elements are floats.
  const std::vector<Case> cases = {
      {0, CommKind::kAllReduce, {16}, {16}},
      {1, CommKind::kReduce, {16}, {16}},
      {2, CommKind::kAllGatherBase, {16}, {64}},
      {3, CommKind::kGather, {16}, {16, 16, 16, 16}},
      {4, CommKind::kScatter, {16, 16, 16, 16}, {16}},
      {5, CommKind::kBroadcast, {16}, {16}},
      {6, CommKind::kAllToAll, {16}, {16}},
      {7, CommKind::kReduceScatterBase, {16}, {4}},
      {8, CommKind::kReduceScatterBase, {16}, {4}},
      {9, CommKind::kBarrier, {}, {}},
  };
  for (const Case& expected : cases) {
    const Trace trace = trace_of({collective(3, expected.type, 64)}, 4);
    const auto calls = communication_calls(trace);
    ASSERT_EQ(calls.size(), 1U) << expected.type;
    const CommCall& call = calls.begin()->second;
    const auto sizes = [](const std::vector<const Tensor*>& tensors) {
      std::vector<std::int64_t> numels;
      for (const Tensor* tensor : tensors) {
        numels.push_back(tensor->numel);
      }
      return numels;
    };
    EXPECT_EQ(call.kind, expected.kind) << expected.type;
    EXPECT_EQ(sizes(call.inputs), expected.inputs) << expected.type;
    EXPECT_EQ(sizes(call.outputs), expected.outputs) << expected.type;
    EXPECT_EQ(call.group_size, 4);
    EXPECT_EQ(trace.losses[Loss::kMadeUpBuffers], 1U);
  }
}

TEST(ChakraTrace, RanksByFileName) {
  const TemporaryFolder folder;
  for (const int rank : {0, 1, 2, 3, 10, 11, 4, 5, 6, 7, 8, 9}) {
    folder.write("all_reduce." + std::to_string(rank) + ".et",
                 file({node(collective(0, 0, 1024 * (rank + 1)))}));
  }
  folder.write("comm_groups.json", "{}");
  const std::vector<Trace> traces = read_traces({folder.path()});
  ASSERT_EQ(traces.size(), 12U);
  for (int rank = 0; rank < 12; ++rank) {
    const auto& trace = traces[static_cast<std::size_t>(rank)];
    EXPECT_EQ(trace.rank, rank);
    EXPECT_EQ(communication_calls(trace).begin()->second.inputs[0]->numel, 256 * (rank + 1));
  }
}

TEST(ChakraTrace, GroupsAreThoseOfTheFileBesideIt) {
  const TemporaryFolder folder;
  for (const int rank : {0, 1, 2, 3}) {
    NodeText gather = collective(1, 2, 1024);
    gather.attributes.push_back(text("pg_name", rank == 0 ? "7" : "9"));
    folder.write("w." + std::to_string(rank) + ".et", file({node(gather)}));
  }
  folder.write("groups.json", R"({"7": [0], "9": [3, 1, 2]})");
  folder.write("system.json", R"({"9": ["ring"], "active-chunks": 1})");
  const TraceSet set = read_trace_set({folder.path()});
  EXPECT_EQ(set.others, std::vector<std::string>{folder.path() + "/system.json"});
  ASSERT_EQ(set.traces.size(), 4U);
  EXPECT_EQ(set.traces[2].process_groups,
            (std::vector<ProcessGroup>{{"7", "", "", {0}, 1}, {"9", "", "", {3, 1, 2}, 3}}));
  const auto gathered = [&](std::size_t rank) {
    return communication_calls(set.traces[rank]).begin()->second.outputs[0]->numel;
  };
  EXPECT_EQ(gathered(0), 256);
  EXPECT_EQ(gathered(2), 3 * 256);
}

TEST(ChakraTrace, ThePublishedSample) {
  const Trace trace =
      std::move(read_traces({std::string(UNDERSTUDY_CHAKRA_DATA) + "/chakra.0.et.gz"}).front());
  EXPECT_EQ(trace.schema, "chakra of 1.0.1");
  EXPECT_EQ(trace.pid, 114598);
  EXPECT_EQ(trace.nodes.size(), 1233U);  // 2,448 parts of 1,232 operators, and the root
  EXPECT_EQ(count_collectives(communication_calls(trace)),
            (std::map<std::string, std::uint64_t>{{"allreduce", 5}, {"broadcast", 2}}));
  std::uint64_t launches = 0;
  std::int64_t device_ns = 0;
  for (const auto& times : trace.own_times) {
    launches += times ? times->launches : 0;
    device_ns += times ? times->device_ns : 0;
  }
  EXPECT_EQ(launches, 1216U);
  EXPECT_EQ(device_ns, 329543000);
  EXPECT_EQ(trace.losses.nonzero(),
            (std::map<std::string, std::uint64_t>{{"assumed_starts", 1232},
                                                  {"missing_nodes", 1277},
                                                  {"placeholder_values", 19},
                                                  {"stale_control_edges", 1268}}));
}

}  // namespace
}  // namespace understudy::et_schema
