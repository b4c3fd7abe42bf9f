#include "et_schema/formats/pytorch_et/trace_reader.h"

#include <gtest/gtest.h>

#include "reader_texts.h"

namespace understudy::et_schema {
namespace {

using namespace testing_texts;  // NOLINT(google-build-using-namespace)

constexpr std::string_view kFlat =
    R"json({"schema": "1.0.1", "pid": 5, "time": "t", "start_ts": 10, "nodes": [
  {"name": "aten::t", "id": 3, "rf_id": 1, "parent": 2, "fw_parent": 4, "seq_id": 9, "scope": 1,
   "tid": 1, "fw_tid": 2, "op_schema": "aten::t(Tensor(a) self) -> Tensor(a)",
   "inputs": [[5, 6, 0, 6, 4, "cuda:0"]], "input_shapes": [[2, 3]],
   "input_types": ["Tensor(float)"], "outputs": [[7, 6, 0, 6, 4, "cuda:0"]],
   "output_shapes": [[3, 2]], "output_types": ["Tensor(float)"]},
  {"name": "[pytorch|profiler|execution_graph|thread]", "id": 2, "rf_id": 0, "parent": 1,
   "fw_parent": 0, "seq_id": -1, "scope": 7, "tid": 1, "fw_tid": 0, "op_schema": "", "inputs": [],
   "input_shapes": [], "input_types": [], "outputs": [], "output_shapes": [], "output_types": []},
  {"name": "[pytorch|profiler|execution_graph|process]", "id": 1, "rf_id": 0, "parent": 1,
   "fw_parent": 0, "seq_id": -1, "scope": 7, "tid": 0, "fw_tid": 0, "op_schema": "", "inputs": [],
   "input_shapes": [], "input_types": [], "outputs": [], "output_shapes": [], "output_types": []}
], "finish_ts": 12})json";

TEST(TraceReader, FlatLayout) {
  const Trace trace = parse(std::string(kFlat));
  EXPECT_EQ(trace.schema, "1.0.1");
  EXPECT_EQ(trace.pid, 5);
  EXPECT_EQ(trace.time, "t");
  EXPECT_EQ(trace.start_ts, 10);
  EXPECT_EQ(trace.finish_ts, 12);
  EXPECT_EQ(trace.content_bytes, kFlat.size());
  ASSERT_EQ(trace.nodes.size(), 3U);
  const Node& node = trace.nodes[2];
  EXPECT_EQ(node.name, "aten::t");
  EXPECT_EQ(node.rf_id, 1U);
  EXPECT_EQ(node.fw_parent, 4U);
  EXPECT_EQ(node.seq_id, 9);
  EXPECT_EQ(node.scope, Scope::kBackwardFunction);
  EXPECT_EQ(node.tid, 1U);
  EXPECT_EQ(node.fw_tid, 2U);
  EXPECT_EQ(node.op_schema, "aten::t(Tensor(a) self) -> Tensor(a)");
  EXPECT_EQ(node.inputs[0].tensor().sizes[1], 3);
  EXPECT_EQ(node.outputs[0].tensor().tensor_id, 7);
  EXPECT_EQ(node.comm, nullptr);
  EXPECT_TRUE(trace.losses.nonzero().empty());
}

TEST(TraceReader, NestedLayoutWithAttributes) {
  const Trace trace = parse(trace_of(
      {.id = 3,
       .parent = 2,
       .name = "triton_poi_fused_add_0",
       .attributes = R"(, {"name": "kernel_backend", "type": "string", "value": "triton"})"
                     R"(, {"name": "kernel_file", "type": "string", "value": "cabc.py"})"
                     R"(, {"name": "tensor_range", "type": "string", "value": "{\"0\":[1,2]}"})"
                     R"(, {"name": "seq_id", "type": "int64", "value": -1})"
                     R"(, {"name": "scope", "type": "uint64", "value": 7})"
                     R"(, {"name": "from_a_later_torch", "type": "string", "value": "x"})"}));
  const Node& node = trace.nodes[2];
  EXPECT_EQ(node.kernel_backend, "triton");
  EXPECT_EQ(node.kernel_file, "cabc.py");
  EXPECT_EQ(node.tensor_range, R"({"0":[1,2]})");
  EXPECT_EQ(node.scope, Scope::kUserScope);
  EXPECT_EQ(classify(node), NodeClass::kKernel);
}

TEST(TraceReader, CommunicationAttributes) {
  const Trace trace = parse(trace_of(
      {.id = 3,
       .parent = 2,
       .name = "record_param_comms",
       .attributes = R"(, {"name": "collective_name", "type": "string", "value": "allreduce"})"
                     R"(, {"name": "dtype", "type": "string", "value": "Float"})"
                     R"(, {"name": "global_rank_start", "type": "uint64", "value": 4})"
                     R"(, {"name": "global_rank_stride", "type": "uint64", "value": 2})"
                     R"(, {"name": "pg_name", "type": "string", "value": "tp"})"
                     R"(, {"name": "pg_desc", "type": "string", "value": "d"})"
                     R"(, {"name": "pg_size", "type": "uint64", "value": 16})"}));
  ASSERT_NE(trace.nodes[2].comm, nullptr);
  const CommAttributes& comm = *trace.nodes[2].comm;
  EXPECT_EQ(comm.name, "allreduce");
  EXPECT_EQ(comm.global_rank_start, 4);
  EXPECT_EQ(comm.global_rank_stride, 2);
  EXPECT_EQ(comm.group, "tp");
  EXPECT_EQ(comm.group_description, "d");
  EXPECT_EQ(comm.ranks_in_group, 16);
  EXPECT_EQ(classify(trace.nodes[2]), NodeClass::kCommunication);
}

TEST(TraceReader, ClassesByFieldsAlone) {
  Node node;
  node.name = "aten::add";
  EXPECT_EQ(classify(node), NodeClass::kLabel);
  node.op_schema = "aten::add(Tensor a, Tensor b) -> Tensor";
  EXPECT_EQ(classify(node), NodeClass::kOperator);
  for (const char* name :
       {"c10d::allreduce_", "_c10d_functional::wait_tensor",
        "_c10d_functional_autograd::all_reduce", "c10d_functional::all_reduce"}) {
    node.name = name;
    EXPECT_EQ(classify(node), NodeClass::kC10d) << name;
  }
}

TEST(TraceReader, AcceptsEverySchemaOfTheTwoSeries) {
  for (const char* schema : {"1.0.0", "1.0.1", "1.0.2-chakra.0.0.4", "1.0.4-chakra.0.0.4", "1.1.0",
                             "1.1.1-chakra.0.0.4", "1.1.1-chakra.1.0.0", "1.1.12"}) {
    EXPECT_EQ(parse(trace(roots(), schema)).schema, schema);
  }
}

TEST(TraceReader, HeaderMayStandBehindTheNodes) {
  std::string text = R"({"nodes": [)" + roots()[0] + "," + roots()[1] +
                     R"(], "other": {"a": [1, "]"]}, "schema": "1.1.1", "pid": 3})";
  const Trace trace = parse(text);
  EXPECT_EQ(trace.nodes.size(), 2U);
  EXPECT_EQ(trace.pid, 3);
}

TEST(TraceReader, ByteOrderMarkAndWhiteSpaceAreNothing) {
  EXPECT_EQ(parse("\xef\xbb\xbf \n" + trace(roots()) + "\n \n").nodes.size(), 2U);
}

TEST(TraceReader, HashIsOfTheBytes) {
  const std::string text = trace(roots());
  EXPECT_EQ(parse(text).content_hash, parse(text).content_hash);
  EXPECT_NE(parse(text).content_hash, parse(text + " ").content_hash);
}

TEST(TraceReader, NodesAreFoundById) {
  const Trace trace = parse(std::string(kFlat));
  EXPECT_EQ(trace.find(3), 2U);
  EXPECT_EQ(trace.find(4), kNoNode);
  EXPECT_EQ(trace.find(0), kNoNode);
}

TEST(TraceReader, ReadsATextThatEndsWithItsBuffer) {
  // The parser reads ahead in blocks: AddressSanitizer sees it if that goes past the end.
  const std::string text = trace(roots());
  const std::vector<char> exact(text.begin(), text.end());
  EXPECT_EQ(parse_trace({exact.data(), exact.size()}, "t.json").nodes.size(), 2U);
}

}  // namespace
}  // namespace understudy::et_schema
