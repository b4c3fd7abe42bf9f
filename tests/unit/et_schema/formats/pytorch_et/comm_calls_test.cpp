#include "et_schema/formats/pytorch_et/comm_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "reader_texts.h"

namespace understudy::et_schema {
namespace {

using namespace testing_texts;  // NOLINT(google-build-using-namespace)

constexpr const char* kTensor = R"([[5, 6, 0, 4, 4, "cuda:0"]])";

/// A record_param_comms as the last of three nodes.
Trace record(const Arrays& inputs, const Arrays& outputs = {}, const std::string& attributes = {}) {
  return parse(trace_of({.id = 3,
                         .parent = 2,
                         .name = "record_param_comms",
                         .inputs = inputs,
                         .outputs = outputs,
                         .attributes = attributes}));
}

CommCall only_call(const Trace& trace) {
  const auto calls = communication_calls(trace);
  EXPECT_EQ(calls.size(), 1U);
  return calls.empty() ? CommCall() : calls.begin()->second;
}

TEST(Comms, Torch20AndItsGroupAddress) {
  const Trace trace = record(
      arrays_of(R"([[5,6,0,4,4,"cuda:0"], 149, 94594108284448, 3, "all_to_allv", [1,3], [2,2]])"),
      arrays_of(R"([[7,8,0,4,4,"cuda:0"]])"));
  const CommCall call = only_call(trace);
  EXPECT_EQ(call.kind, CommKind::kAllToAllV);
  EXPECT_EQ(call.name, "all_to_allv");
  EXPECT_EQ(call.seq, 149);
  EXPECT_EQ(call.pg_name, "94594108284448");
  EXPECT_EQ(call.root_or_peer, 3);
  EXPECT_EQ(call.in_splits, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(call.out_splits, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(call.group_size, 0);
  ASSERT_EQ(call.inputs.size(), 1U);
  EXPECT_EQ(call.inputs[0]->tensor_id, 5);
  ASSERT_EQ(call.outputs.size(), 1U);
  EXPECT_EQ(call.outputs[0]->tensor_id, 7);
}

TEST(Comms, Schema102NamesTheGroupByTheBackendOfItsInitNode) {
  const Trace trace = parse(trace_of(
      {{.id = 3,
        .parent = 2,
        .name = "## process_group:init ##",
        .inputs =
            arrays_of(R"(["[{\"pg_name\": \"7\", \"backend_id\": 99, \"ranks\": [0, 1]}]"])")},
       {.id = 4,
        .parent = 2,
        .name = "record_param_comms",
        .inputs =
            arrays_of(fmt::format(R"([{}, 12, 99, 0, "all_gather", [], [], 2])", kTensor))}}));
  const CommCall call = only_call(trace);
  EXPECT_EQ(call.pg_name, "7");
  EXPECT_EQ(call.group_size, 2);
  EXPECT_EQ(call.kind, CommKind::kAllGather);
  ASSERT_EQ(trace.process_groups.size(), 1U);
  EXPECT_EQ(trace.process_groups[0].name, "7");
  EXPECT_EQ(trace.process_groups[0].ranks, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(trace.process_groups[0].size, 2);
}

TEST(Comms, Torch211WithSequencePair) {
  const CommCall call = only_call(record(arrays_of(
      fmt::format(R"([{}, [33, true], ["3", "tp"], 1, "send", [], [], 4, 2, 8])", kTensor))));
  EXPECT_EQ(call.kind, CommKind::kSend);
  EXPECT_EQ(call.seq, 33);
  EXPECT_EQ(call.pg_name, "3");
  EXPECT_EQ(call.pg_desc, "tp");
  EXPECT_EQ(call.root_or_peer, 1);
  EXPECT_EQ(call.global_rank_start, 4);
  EXPECT_EQ(call.global_rank_stride, 2);
  EXPECT_EQ(call.group_size, 8);
  EXPECT_EQ(call.is_async, std::nullopt);
}

TEST(Comms, Torch212SaysWhetherItIsAsynchronous) {
  const CommCall call = only_call(record(arrays_of(fmt::format(
      R"([{}, [1, false], ["0", ""], 0, "allreduce", [], [], 0, 1, 2, true])", kTensor))));
  EXPECT_EQ(call.is_async, true);
  EXPECT_EQ(call.group_size, 2);
}

TEST(Comms, WaitLacksTheTensors) {
  const CommCall newer =
      only_call(record(arrays_of(R"([33, ["", ""], 0, "wait", [], [], -1, -1, 1])")));
  EXPECT_EQ(newer.kind, CommKind::kWait);
  EXPECT_EQ(newer.seq, 33);
  EXPECT_EQ(newer.pg_name, "");
  EXPECT_TRUE(newer.inputs.empty());
  const CommCall older = only_call(record(arrays_of(R"([147, 0, 0, "wait", [], []])")));
  EXPECT_EQ(older.seq, 147);
  EXPECT_EQ(older.pg_name, "");
  EXPECT_EQ(older.is_p2p, std::nullopt);
  const CommCall pair =
      only_call(record(arrays_of(R"([[33, true], ["", ""], 0, "wait", [], [], -1, -1, 1])")));
  EXPECT_EQ(pair.seq, 33);
  EXPECT_EQ(pair.is_p2p, true);
}

TEST(Comms, AWaitTensorNamesItsTensor) {
  const Trace trace = parse(trace_of({.id = 3,
                                      .parent = 2,
                                      .name = "_c10d_functional::wait_tensor",
                                      .inputs = arrays_of(R"([[1,2,0,4,4,"cpu"]])"),
                                      .schema = "x"}));
  const CommCall call = only_call(trace);
  EXPECT_EQ(call.kind, CommKind::kWait);
  EXPECT_EQ(call.inputs.at(0)->tensor_id, 1);
  EXPECT_TRUE(call.outputs.empty());
}

TEST(Comms, AttributesFillInWhatTheInputsLack) {
  const CommCall call =
      only_call(record({}, {},
                       R"(, {"name": "collective_name", "type": "string", "value": "barrier"})"
                       R"(, {"name": "pg_name", "type": "string", "value": "9"})"
                       R"(, {"name": "pg_size", "type": "uint64", "value": 4})"));
  EXPECT_EQ(call.kind, CommKind::kBarrier);
  EXPECT_EQ(call.pg_name, "9");
  EXPECT_EQ(call.group_size, 4);
}

TEST(Comms, Torch113HasTheNameInTheLabelAround) {
  const Trace trace = parse(trace_of({{.id = 3, .parent = 2, .name = "nccl:all_reduce"},
                                      {.id = 4, .parent = 3, .name = "record_param_comms"}}));
  EXPECT_EQ(only_call(trace).name, "allreduce");
}

TEST(Comms, AsynchronousFlagOfTheC10dParent) {
  const Trace trace = parse(
      trace_of({{.id = 3,
                 .parent = 2,
                 .name = "c10d::broadcast_",
                 .inputs = arrays_of("[false]"),
                 .schema = "c10d::broadcast_(Tensor[] tensors, bool asyncOp) -> ()"},
                {.id = 4,
                 .parent = 3,
                 .name = "record_param_comms",
                 .inputs = arrays_of(R"([1, ["", ""], 0, "barrier", [], [], 0, 1, 2, true])")}}));
  // The c10d node is not counted again.
  EXPECT_EQ(only_call(trace).is_async, false);
}

struct GlooCase {
  const char* c10d;
  const char* recorded;
  CommKind kind;
};

void PrintTo(const GlooCase& name, std::ostream* stream) {
  *stream << name.c10d;
}

class GlooName : public testing::TestWithParam<GlooCase> {};

TEST_P(GlooName, MapsToTheRecordedVocabulary) {
  const std::string name = std::string(GetParam().c10d);
  const Trace trace =
      parse(trace_of({.id = 3,
                      .parent = 2,
                      .name = name,
                      .inputs = arrays_of(R"([[[1,2,0,4,4,"cpu"]], [[3,4,0,4,4,"cpu"]], 5])"),
                      .schema = name + "(…)"}));
  const CommCall call = only_call(trace);
  EXPECT_EQ(call.name, GetParam().recorded);
  EXPECT_EQ(call.kind, GetParam().kind);
}

INSTANTIATE_TEST_SUITE_P(
    Comms, GlooName,
    testing::Values(GlooCase{"c10d::allreduce_", "allreduce", CommKind::kAllReduce},
                    GlooCase{"c10d::broadcast_", "broadcast", CommKind::kBroadcast},
                    GlooCase{"c10d::reduce_", "reduce", CommKind::kReduce},
                    GlooCase{"c10d::allgather_", "all_gather", CommKind::kAllGather},
                    GlooCase{"c10d::_allgather_base_", "_allgather_base", CommKind::kAllGatherBase},
                    GlooCase{"c10d::reduce_scatter_", "reduce_scatter", CommKind::kReduceScatter},
                    GlooCase{"c10d::_reduce_scatter_base_", "_reduce_scatter_base",
                             CommKind::kReduceScatterBase},
                    GlooCase{"c10d::gather_", "gather", CommKind::kGather},
                    GlooCase{"c10d::scatter_", "scatter", CommKind::kScatter},
                    GlooCase{"c10d::alltoall_", "all_to_all", CommKind::kAllToAll},
                    GlooCase{"c10d::alltoall_base_", "all_to_all", CommKind::kAllToAll},
                    GlooCase{"c10d::send", "send", CommKind::kSend},
                    GlooCase{"c10d::recv_", "recv", CommKind::kRecv},
                    GlooCase{"c10d::barrier", "barrier", CommKind::kBarrier},
                    GlooCase{"_c10d_functional::wait_tensor", "wait", CommKind::kWait},
                    GlooCase{"_c10d_functional::all_gather_into_tensor", "_allgather_base",
                             CommKind::kAllGatherBase},
                    GlooCase{"_c10d_functional::reduce_scatter_tensor_out", "_reduce_scatter_base",
                             CommKind::kReduceScatterBase}));

TEST(Comms, GlooTensorsRootAndPeer) {
  const auto call_of = [](const std::string& name) {
    return parse(trace_of({.id = 3,
                           .parent = 2,
                           .name = name,
                           .inputs = arrays_of(R"([[[1,2,0,4,4,"cpu"]], [[3,4,0,4,4,"cpu"]], 5])"),
                           .schema = "x"}));
  };
  const Trace gather = call_of("c10d::gather_");
  const CommCall gathered = only_call(gather);
  EXPECT_EQ(gathered.outputs.at(0)->tensor_id, 1);
  EXPECT_EQ(gathered.inputs.at(0)->tensor_id, 3);
  EXPECT_EQ(gathered.root_or_peer, 5);
  const Trace send = call_of("c10d::send");
  const CommCall sent = only_call(send);
  EXPECT_EQ(sent.inputs.at(0)->tensor_id, 1);
  EXPECT_EQ(sent.root_or_peer, 5);
}

/// The operator that is read off the last node, a c10d one below two others.
std::string reduce_op_below(const NodeText& upper, const NodeText& lower) {
  return communication_calls(
             parse(trace_of(
                 {upper,
                  lower,
                  {.id = 5, .parent = lower.id, .name = "c10d::allreduce_", .schema = "x"}})))
      .rbegin()
      ->second.reduce_op;
}

TEST(Comms, FunctionalReductionsNameTheirOperator) {
  const auto all_reduce = [](const std::string& op) {
    return NodeText{
        .id = 3,
        .parent = 2,
        .name = "_c10d_functional::all_reduce",
        .inputs = arrays_of(fmt::format(R"([[1,2,0,4,4,"cpu"], "{}", "0"])", op)),
        .schema =
            "_c10d_functional::all_reduce(Tensor input, Any reduce_op, Any group_name) -> Tensor"};
  };
  const NodeText again = {.id = 4, .parent = 3, .name = "c10d::allreduce_", .schema = "x"};
  const NodeText label = {.id = 4, .parent = 3, .name = "somebody's label"};
  EXPECT_EQ(only_call(parse(trace_of(all_reduce("max")))).reduce_op, "max");
  EXPECT_EQ(reduce_op_below(all_reduce("avg"), again), "avg");
  EXPECT_EQ(reduce_op_below(all_reduce("premul_sum:0.25"), again), "premul_sum:0.25");
  for (const char* unknown :
       {"premul_sum", "premul_sum:", "premul_sum:x", "premul_sum:0", "teleport"}) {
    EXPECT_EQ(reduce_op_below(all_reduce(unknown), again), "") << unknown;
  }
  EXPECT_EQ(reduce_op_below(all_reduce("avg"), label), "") << "not the call that the text is of";
}

TEST(Comms, TheFirstFunctionalNamespaceNamesItsOperatorToo) {
  const NodeText legacy = {
      .id = 3,
      .parent = 2,
      .name = "c10d_functional::all_reduce",
      .inputs = arrays_of(R"([[1,2,0,4,4,"cpu"], "max", "tag", [0, 1], 2])"),
      .schema =
          "c10d_functional::all_reduce(Tensor self, str reduceOp, str tag, int[] ranks, int "
          "group_size) -> Tensor"};
  const CommCall call = only_call(parse(trace_of(legacy)));
  EXPECT_EQ(call.reduce_op, "max");
  EXPECT_EQ(call.pg_name, "") << "a tag is no group";
}

/// A reduce_scatter of tensors of this element type, recorded below a label.
CommCall reduction_below(const std::string& label, const std::string& type) {
  CommCall call = only_call(parse(
      trace_of({{.id = 3, .parent = 2, .name = label},
                {.id = 4, .parent = 3, .name = "somebody's label"},
                {.id = 5,
                 .parent = 4,
                 .name = "c10d::_reduce_scatter_base_",
                 .inputs = {.values = R"([[1,2,0,4,4,"cuda:0"], [3,4,0,8,4,"cuda:0"]])",
                            .shapes = "[[4],[8]]",
                            .types = fmt::format(R"json(["Tensor({0})","Tensor({0})"])json", type)},
                 .schema = "x"}})));
  call.inputs.clear();
  call.outputs.clear();
  return call;
}

TEST(Comms, LabelsOfShardedDataParallelMeanItsReduction) {
  // FSDP2 averages, but divides float16 by itself and adds it up; so does FSDP1 with any type.
  const char* const fsdp2 = "FSDP::post_backward_reduce (layers.0)";
  EXPECT_EQ(reduction_below(fsdp2, "float").reduce_op, "avg");
  EXPECT_EQ(reduction_below(fsdp2, "float").reduce_op_why, "label of sharded data parallel");
  EXPECT_EQ(reduction_below(fsdp2, "c10::BFloat16").reduce_op, "avg");
  EXPECT_EQ(reduction_below(fsdp2, "c10::Half").reduce_op, "sum");
  const char* const fsdp1 = "FullyShardedDataParallel._post_backward_hook";
  EXPECT_EQ(reduction_below(fsdp1, "float").reduce_op, "sum");
  EXPECT_EQ(reduction_below("my FSDP::label", "float").reduce_op, "");
  EXPECT_EQ(reduction_below("understudy:reduce_op=max", "float").reduce_op, "")
      << "a label of another call";
}

TEST(Comms, ACaptureLabelsReductionsWithTheirOperator) {
  const NodeText around = {.id = 3, .parent = 2, .name = "understudy:reduce_op=min"};
  EXPECT_EQ(reduce_op_below(around, {.id = 4, .parent = 2, .name = "other"}), "");
  EXPECT_EQ(reduce_op_below({.id = 3, .parent = 2, .name = "other"},
                            {.id = 4, .parent = 3, .name = "understudy:reduce_op=min"}),
            "min");
  // In the form of NCCL it is the label below that says so.
  EXPECT_EQ(
      only_call(parse(trace_of({{.id = 3,
                                 .parent = 2,
                                 .name = "record_param_comms",
                                 .inputs = arrays_of(R"([1, ["", ""], 0, "allreduce", [], []])")},
                                {.id = 4,
                                 .parent = 3,
                                 .name = "nccl:all_reduce",
                                 .inputs = arrays_of(R"([[1,2,0,4,4,"cpu"], "product"])")}})))
          .reduce_op,
      "product");
}

TEST(Comms, OneNameInBothNamespacesHasItsTensorsWhereItsSchemaSays) {
  const auto call_of = [](const std::string& name) {
    return parse(
        trace_of({.id = 3,
                  .parent = 2,
                  .name = name,
                  .inputs = arrays_of(R"([[[1,2,0,8,4,"cpu"]], [[3,4,0,8,4,"cpu"]], 2, "0"])"),
                  .outputs = arrays_of(R"([[[5,6,0,4,4,"cpu"]]])"),
                  .schema = "x"}));
  };
  const Trace functional = call_of("_c10d_functional::reduce_scatter_tensor_coalesced");
  EXPECT_EQ(only_call(functional).inputs.at(0)->tensor_id, 1);
  EXPECT_EQ(only_call(functional).outputs.at(0)->tensor_id, 5);
  const Trace c10d = call_of("c10d::reduce_scatter_tensor_coalesced_");
  EXPECT_EQ(only_call(c10d).inputs.at(0)->tensor_id, 3);
  EXPECT_EQ(only_call(c10d).outputs.at(0)->tensor_id, 1);
  const Trace broadcast = call_of("_c10d_functional::broadcast");
  EXPECT_EQ(only_call(broadcast).inputs.at(0)->tensor_id, 1);
  EXPECT_EQ(only_call(broadcast).outputs.at(0)->tensor_id, 5);
}

/// in_batch and joins_batch of calls, and the numbers of collectives in batches: their numbers by
/// node, the ends of batches between, and waits ("wait" before the number).
std::string batches_of(const std::vector<std::string>& numbers, const char* name = "send") {
  std::vector<std::string> nodes = roots();
  int id = 2;
  for (const std::string& number : numbers) {
    if (number == "end") {
      nodes.push_back(node({.id = ++id, .parent = 2, .name = "nccl:coalesced"}));
      continue;
    }
    const bool is_wait = number.starts_with("wait");
    nodes.push_back(node({.id = ++id,
                          .parent = 2,
                          .name = "record_param_comms",
                          .inputs = arrays_of(fmt::format(
                              R"([{}, {}, ["0", ""], 1, "{}", [], [], 0, 1, 2])", kTensor,
                              is_wait ? number.substr(4) : number, is_wait ? "wait" : name))}));
  }
  std::string text;
  for (const auto& [index, call] : communication_calls(parse(testing_texts::trace(nodes)))) {
    if (call.kind != CommKind::kWait) {
      text += !call.in_batch     ? "?"
              : !*call.in_batch  ? "alone"
              : call.joins_batch ? "next"
                                 : "first";
      text += call.in_batch && !is_message(call.kind) ? fmt::format(":{} ", *call.seq) : " ";
    }
  }
  return text;
}

TEST(Comms, MessagesOfOneNumberAreABatch) {
  EXPECT_EQ(batches_of({"[1, true]", "[1, true]", "end", "[2, true]", "[3, true]", "end",
                        "[4, true]", "[4, true]", "[4, true]"}),
            "first next alone first first next next ");
}

TEST(Comms, WhereSingleMessagesShareNumbersOnlyTheLabelTells) {
  EXPECT_EQ(batches_of({"1", "1", "2", "2", "end"}), "? ? first next ");
}

// As ProcessGroupNCCL numbers them, the collective behind the group has its last one's number; in
// captures of earlier versions the calls of a group have one number.
TEST(Comms, CollectivesThatAreIssuedAsOneAreABatch) {
  const auto batches = [](const std::vector<std::string>& numbers) {
    return batches_of(numbers, "broadcast");
  };
  EXPECT_EQ(batches({"[1, false]", "[2, false]", "[3, false]", "[3, false]", "end", "[3, false]"}),
            "? first:2 next:2 next:2 ? ");
  EXPECT_EQ(batches({"[1, false]", "[2, false]", "[3, false]", "end", "[3, false]"}),
            "? first:2 next:2 ? ");
  EXPECT_EQ(batches({"[1, false]", "[2, false]", "end", "[3, false]"}), "? ? ? ");
  EXPECT_EQ(batches({"[1, false]", "[2, false]", "[2, false]", "end", "[3, false]"}),
            "? first:2 next:2 ? ");
}

TEST(Comms, BehindTheLastBatchTheWaitTellsWhichIsItsFirst) {
  const auto batches = [](const std::vector<std::string>& numbers) {
    return batches_of(numbers, "broadcast");
  };
  EXPECT_EQ(batches({"[1, false]", "[2, false]", "[3, false]", "end", "wait[2, false]"}),
            "? first:2 next:2 ");
  EXPECT_EQ(batches({"[1, false]", "[2, false]", "end", "wait[2, false]"}), "? ? ");
  EXPECT_EQ(batches({"[1, false]", "[2, false]", "[2, false]", "end", "wait[2, false]"}),
            "? first:2 next:2 ");
  EXPECT_EQ(batches({"[1, false]", "[2, false]", "[2, false]", "end"}), "first:1 next:1 next:1 ");
  EXPECT_EQ(batches({"[1, false]", "[2, false]", "end"}), "? ? ");
}

TEST(Comms, GlooSplitsMakeItAnAllToAllV) {
  const Trace trace = parse(
      trace_of({.id = 3,
                .parent = 2,
                .name = "c10d::alltoall_base_",
                .inputs = arrays_of(R"([[1,2,0,4,4,"cpu"], [3,4,0,4,4,"cpu"], [1,3], [2,2]])"),
                .schema = "x"}));
  const CommCall call = only_call(trace);
  EXPECT_EQ(call.kind, CommKind::kAllToAllV);
  EXPECT_EQ(call.name, "all_to_allv");
  EXPECT_EQ(call.out_splits, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(call.in_splits, (std::vector<std::int64_t>{2, 2}));
}

TEST(Comms, GlooCallsBelowOneAnotherAreStillTwo) {
  // Gloo's other thread makes the observer take the wrong parent.
  const Trace trace =
      parse(trace_of({{.id = 3, .parent = 2, .name = "c10d::barrier", .schema = "x"},
                      {.id = 4, .parent = 3, .name = "c10d::barrier", .schema = "x"},
                      {.id = 5, .parent = 2, .name = "_c10d_functional::all_reduce", .schema = "x"},
                      {.id = 6, .parent = 5, .name = "c10d::allreduce_", .schema = "x"}}));
  const std::map<std::string, std::uint64_t> expected = {{"allreduce", 1}, {"barrier", 2}};
  EXPECT_EQ(count_collectives(communication_calls(trace)), expected);
}

TEST(Comms, InitIsACallButNoCollective) {
  const Trace trace = record(arrays_of(R"([1, ["", ""], 0, "init", [], []])"));
  const auto calls = communication_calls(trace);
  EXPECT_EQ(calls.size(), 1U);
  EXPECT_TRUE(count_collectives(calls).empty());
}

TEST(Comms, CanonicalNames) {
  EXPECT_EQ(to_string(CommKind::kAllReduce), "allreduce");
  EXPECT_EQ(to_string(CommKind::kAllGatherBase), "_allgather_base");
  EXPECT_EQ(to_string(CommKind::kAllToAllV), "all_to_allv");
  EXPECT_EQ(to_string(CommKind::kInit), "init");
}

TEST(Comms, UnknownNamesAreNoCalls) {
  const Trace recorded = record(arrays_of(R"([1, ["", ""], 0, "teleport", [], []])"));
  const Trace c10d =
      parse(trace_of({.id = 3, .parent = 2, .name = "c10d::teleport_", .schema = "x"}));
  for (const Trace& trace : {std::cref(recorded), std::cref(c10d)}) {
    EXPECT_TRUE(communication_calls(trace).empty());
    EXPECT_EQ(read_communication(trace).unknown, std::vector<NodeIndex>{trace.find(3)});
  }
}

/// A call as torchcomms records it, which gives its tensors' sizes as splits.
CommCall of_torchcomms(const std::string& name, std::size_t inputs, std::size_t outputs) {
  const auto list = [](std::size_t count) {
    return fmt::format("[{}]",
                       fmt::join(std::vector<std::string>(count, R"([5,6,0,4,4,"cuda:0"])"), ","));
  };
  return only_call(
      record(arrays_of(fmt::format(R"([{}, [7,false], ["mesh",""], 0, "{}", [4], [4], -1, -1, 2])",
                                   list(inputs), name)),
             arrays_of(fmt::format("[{}]", list(outputs)))));
}

TEST(Comms, TorchcommsNames) {
  EXPECT_EQ(of_torchcomms("all_reduce", 1, 1).kind, CommKind::kAllReduce);
  EXPECT_EQ(of_torchcomms("all_gather_single", 1, 1).kind, CommKind::kAllGatherBase);
  EXPECT_EQ(of_torchcomms("reduce_scatter_v", 2, 1).kind, CommKind::kReduceScatter);
  EXPECT_EQ(of_torchcomms("reduce_scatter_single", 1, 1).kind, CommKind::kReduceScatterBase);
  EXPECT_EQ(of_torchcomms("all_to_all_single", 1, 1).kind, CommKind::kAllToAll);
  // What all_gather writes stands where others have what they read.
  const CommCall gather = of_torchcomms("all_gather_v", 2, 1);
  EXPECT_EQ(gather.kind, CommKind::kAllGather);
  EXPECT_EQ(gather.inputs.size(), 1U);
  EXPECT_EQ(gather.outputs.size(), 2U);
  EXPECT_EQ(gather.pg_name, "mesh");
  EXPECT_EQ(gather.group_size, 2);
  const CommCall uneven = of_torchcomms("all_to_all_v_single", 1, 1);
  EXPECT_EQ(uneven.kind, CommKind::kAllToAllV);
  EXPECT_TRUE(uneven.in_splits.empty());
  EXPECT_TRUE(uneven.lacks_splits);
}

TEST(CommsRefusal, TooFewInputs) {
  const Trace trace = record(arrays_of(R"([0, "allreduce"])"));
  EXPECT_EQ(error_of([&trace] { static_cast<void>(communication_calls(trace)); }),
            "a collective cannot be read\n"
            "  file:     t.json\n"
            "  rank:     0\n"
            "  node:     3\n"
            "  field:    inputs\n"
            "  expected: [tensors,] seq, group, rank before the name\n"
            "  got:      1 inputs before \"allreduce\"");
}

TEST(CommsRefusal, SplitsThatNoTensorHas) {
  const auto refused = [](const std::string& splits) {
    const Trace trace =
        record(arrays_of(R"([1, ["", ""], 0, "all_to_allv", [)" + splits + "], []]"));
    return error_of([&trace] { static_cast<void>(communication_calls(trace)); });
  };
  const std::string start =
      "a collective cannot be read\n"
      "  file:     t.json\n"
      "  rank:     0\n"
      "  node:     3\n"
      "  field:    inputs\n"
      "  expected: splits of 0 or more, with a sum below 2^63\n";
  EXPECT_EQ(refused("2, -3"), start + "  got:      -3");
  EXPECT_EQ(refused("9223372036854775807, 1"), start + "  got:      1");
}

/// A trace with one process-group node that holds this JSON, quotes escaped.
Trace with_groups(const std::string& json) {
  std::string escaped;
  for (const char c : json) {
    escaped += c == '"' ? "\\\"" : std::string(1, c);
  }
  return parse(trace_of({.id = 3,
                         .parent = 2,
                         .name = "## process_group:init ##",
                         .inputs = arrays_of("[\"" + escaped + "\"]")}));
}

TEST(ProcessGroups, OfTheNewestTorch) {
  const Trace trace = with_groups(
      R"([{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "ranks": [], "group_size": 8},)"
      R"( {"pg_name": "tp", "pg_desc": "d", "backend_config": "cpu:gloo", "ranks": [4, 6]}])");
  ASSERT_EQ(trace.process_groups.size(), 2U);
  EXPECT_EQ(trace.process_groups[0], (ProcessGroup{.name = "0",
                                                   .description = "default_pg",
                                                   .backend = "cuda:nccl",
                                                   .ranks = {},
                                                   .size = 8}));
  EXPECT_EQ(trace.process_groups[1].ranks, (std::vector<std::int64_t>{4, 6}));
  EXPECT_EQ(trace.process_groups[1].size, 2);
}

TEST(ProcessGroups, OfTorch20HaveAddressesAndAMapOfRanks) {
  const Trace trace =
      with_groups(R"([{"pg_id": 140, "backend_id": 7, "ranks": {"5": 1, "3": 0}}])");
  ASSERT_EQ(trace.process_groups.size(), 1U);
  EXPECT_EQ(trace.process_groups[0].name, "140");
  EXPECT_EQ(trace.process_groups[0].ranks, (std::vector<std::int64_t>{3, 5}));
}

TEST(ProcessGroups, ListThatTheObserverCutIsReadUpToTheCut) {
  const Trace trace = with_groups(R"([{"pg_name": "0", "ranks": []}, {"pg_name": "1", "ran)");
  ASSERT_EQ(trace.process_groups.size(), 1U);
  EXPECT_EQ(trace.losses[Loss::kTruncatedLists], 1U);
}

TEST(ProcessGroups, OfOneNameTheLaterStays) {
  const Trace trace =
      with_groups(R"([{"pg_name": "0", "ranks": [0]}, {"pg_name": "0", "ranks": [1]}])");
  ASSERT_EQ(trace.process_groups.size(), 1U);
  EXPECT_EQ(trace.process_groups[0].ranks, (std::vector<std::int64_t>{1}));
}

TEST(ProcessGroupsRefusal, WholeMessage) {
  const std::string start =
      "the process groups cannot be read\n"
      "  file:     t.json\n"
      "  node:     3\n"
      "  field:    inputs.values\n";
  EXPECT_EQ(error_of([] { static_cast<void>(with_groups("groups")); }),
            start + "  expected: a JSON list of groups\n  got:      groups");
  EXPECT_EQ(error_of([] { static_cast<void>(with_groups(R"([{"ranks": [-1]}])")); }),
            start + "  expected: ranks from 0 to 1048575, each once\n  got:      -1");
  EXPECT_EQ(error_of([] { static_cast<void>(with_groups(R"([{"ranks": [1048576]}])")); }),
            start + "  expected: ranks from 0 to 1048575, each once\n  got:      1048576");
  EXPECT_EQ(error_of([] { static_cast<void>(with_groups(R"([{"ranks": [3, 3]}])")); }),
            start + "  expected: ranks from 0 to 1048575, each once\n  got:      [3,3]");
  EXPECT_EQ(error_of([] { static_cast<void>(with_groups(R"([{"group_size": 1048577}])")); }),
            start + "  expected: a group_size from 0 to 1048576\n  got:      1048577");
  EXPECT_EQ(error_of([] { static_cast<void>(with_groups("[5]")); }),
            start + "  expected: an object for each group\n  got:      5");
}

}  // namespace
}  // namespace understudy::et_schema
