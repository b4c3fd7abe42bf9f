// A hand-made step of FSDP2 on a GPU, with its profile: which calls are asynchronous, and where
// they are joined.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "et_schema/formats/kineto/kineto.h"
#include "generator/job/generate.h"
#include "generator/link/link.h"
#include "trace_builder.h"

namespace understudy::generator {
namespace {

using et_schema::Instruction;
using et_schema::StreamWait;
using test::tensor;
using test::TestValue;

constexpr std::int64_t kTick_ns = 1000;  ///< a microsecond
constexpr std::int64_t kOperators = 7;
constexpr std::int64_t kGather = 20;
constexpr std::int64_t kReduceScatter = 24;

/// The step, written as trace and as profile at once. Times are microseconds.
class TracedStep {
 public:
  /// A node and its event; without a stream it launches nothing.
  std::uint64_t add(std::uint64_t parent, const std::string& name, const std::string& schema,
                    std::vector<TestValue> inputs, std::vector<TestValue> outputs, int start,
                    int length, std::optional<std::int64_t> stream = {}) {
    const std::uint64_t id =
        trace_.add(parent, name, schema, on_gpu(std::move(inputs)), on_gpu(std::move(outputs)));
    const bool is_label = schema.empty() && name != "record_param_comms";
    event(is_label ? "user_annotation" : "cpu_op", name, start, length, 1,
          fmt::format(R"("Record function id":{})", id));
    if (stream) {
      const int call = ++last_call_;
      event("cuda_runtime", "cudaLaunchKernel", start + 1, 1, 1,
            fmt::format(R"("correlation":{})", call));
      event("kernel", "some_kernel", start + 2, 30, static_cast<int>(*stream),
            fmt::format(R"("correlation":{},"stream":{},"device":0)", call, *stream));
    }
    return id;
  }
  void relu(const TestValue& from, const TestValue& to, int start) {
    add(2, "aten::relu", test::kRelu, {from}, {to}, start, 5, kOperators);
  }
  /// A call that its trace says is synchronous.
  void communicate(const std::string& label, const std::string& name, const TestValue& from,
                   const TestValue& to, int start, std::optional<std::int64_t> stream,
                   std::int64_t sequence) {
    const std::uint64_t around = label.empty() ? 2 : add(2, label, "", {}, {}, start, 9);
    const std::uint64_t c10d =
        add(around, "c10d::" + name + "_",
            "c10d::" + name +
                "_(Tensor output_tensor, Tensor input_tensor, bool async_op=True, "
                "int timeout=-1)",
            {to, from, {"false", "[]", "Bool", "[]"}, test::integer(-1)}, {}, start, 8);
    add(c10d, "record_param_comms", "",
        {test::list({from}),
         {fmt::format("[{},false]", sequence), "[[],[]]", "Tuple[Int,Bool]", "[[],[]]"},
         {R"(["0","default_pg"])", "[[],[]]", "Tuple[String,String]", "[[],[]]"},
         test::integer(0),
         {'"' + name + '"', "[]", "String", "[]"},
         {"[]", "[]", "GenericList[]", "[]"},
         {"[]", "[]", "GenericList[]", "[]"},
         test::integer(0),
         test::integer(1),
         test::integer(2)},
        {test::list({to})}, start + 1, 6, stream);
  }
  /// An event behind what `from` has by `recorded`, which `to` waits for from `start` on.
  void wait(std::optional<std::int64_t> to, std::int64_t from, int recorded, int start) {
    const int record = ++last_call_;
    const int call = ++last_call_;
    event("cuda_runtime", "cudaEventRecord", recorded, 1, 1,
          fmt::format(R"("correlation":{})", record));
    event("cuda_runtime", to ? "cudaStreamWaitEvent" : "cudaEventSynchronize", start, 1, 1,
          fmt::format(R"("correlation":{})", call));
    event("cuda_sync", to ? "Stream Wait Event" : "Event Sync", start, 1,
          static_cast<int>(to.value_or(-1)),
          fmt::format(R"("wait_on_stream":{},"wait_on_cuda_event_record_corr_id":{},)"
                      R"("wait_on_cuda_event_id":3,"stream":{},"correlation":{})",
                      from, record, to.value_or(-1), call));
  }

  [[nodiscard]] et_schema::Program program(bool with_profile = true) const {
    std::vector<et_schema::Trace> traces;
    traces.push_back(trace_.trace());
    std::vector<Link> links;
    if (with_profile) {
      const std::string events = "{\"traceEvents\":[" + events_.substr(1) + "]}";
      links.push_back(link(traces[0], et_schema::parse_kineto(events, "k.json")));
    }
    return generate(traces, {.partial = PartialRanks::kAllowed}, links).programs.front();
  }

 private:
  static std::vector<TestValue> on_gpu(std::vector<TestValue> values) {
    for (TestValue& value : values) {
      for (std::size_t at = 0; (at = value.value.find("\"cpu\"", at)) != std::string::npos;) {
        value.value.replace(at, 5, "\"cuda:0\"");
      }
    }
    return values;
  }
  void event(const std::string& category, const std::string& name, int start, int length, int tid,
             const std::string& more) {
    events_ += fmt::format(
        R"(,{{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
        category, name, tid, start, length, more);
  }

  test::TraceBuilder trace_;
  std::string events_;
  int last_call_ = 100;
};

const TestValue kX = tensor(1, 11, {8});
const TestValue kShard = tensor(2, 12, {4});
const TestValue kWhole = tensor(3, 13, {8});
const TestValue kGradient = tensor(4, 14, {4});

/// Gather, compute beside it, join; reduce, compute beside it, join.
TracedStep fsdp_step() {
  TracedStep step;
  step.relu(kX, tensor(21, 31, {8}), 10);
  step.communicate("FSDP::all_gather (layer)", "_allgather_base", kShard, kWhole, 20, kGather, 1);
  step.relu(kX, tensor(22, 32, {8}), 40);
  step.relu(kShard, tensor(23, 33, {4}), 50);  // its input
  step.wait(kOperators, kGather, 30, 60);
  step.relu(kWhole, tensor(24, 34, {8}), 70);
  step.communicate("FSDP::post_backward_reduce (layer)", "_reduce_scatter_base",
                   tensor(24, 34, {8}), kGradient, 80, kReduceScatter, 2);
  step.add(2, "aten::mul_.Tensor", test::kMulInPlace, {kGradient, kShard}, {kGradient}, 91, 5,
           kReduceScatter);
  step.relu(kX, tensor(25, 35, {8}), 100);
  step.wait(kOperators, kReduceScatter, 97, 110);
  step.relu(kGradient, tensor(26, 36, {4}), 120);
  return step;
}

std::vector<std::string> texts(const et_schema::Program& program) {
  std::vector<std::string> texts;
  for (const Instruction& instruction : program.instructions) {
    const std::string how = !instruction.comm ? ""
                            : instruction.comm->is_async.value_or(true)
                                ? ": " + instruction.comm->why
                                : ": blocking";
    texts.push_back(instruction.name + how);
  }
  return texts;
}

TEST(Asynchrony, OfACallOnAStreamOfItsOwnEndsWhereTheOperatorsStreamWaitsForIt) {
  const et_schema::Program program = fsdp_step().program();
  EXPECT_EQ(texts(program),
            (std::vector<std::string>{
                "aten::relu", "_allgather_base: stream of its own", "aten::relu", "aten::relu",
                "wait: wait of a stream", "aten::relu", "_reduce_scatter_base: stream of its own",
                "aten::mul_.Tensor", "aten::relu", "wait: wait of a stream", "aten::relu"}));
  const std::vector<Instruction>& instructions = program.instructions;
  ASSERT_EQ(instructions.size(), 11U);
  EXPECT_EQ(instructions[4].comm->seq, 1);
  EXPECT_EQ(instructions[4].timing->stream, kOperators);
  EXPECT_EQ(instructions[4].timing->start_ns, 50 * kTick_ns);  // since the first node
  EXPECT_EQ(instructions[9].comm->seq, 2);
  EXPECT_EQ(program.profile->stream_waits,
            (std::vector<StreamWait>{{50 * kTick_ns, kOperators, kGather, 20 * kTick_ns},
                                     {100 * kTick_ns, kOperators, kReduceScatter, 87 * kTick_ns}}));
  EXPECT_EQ(instructions[6].comm->reduce_op, "avg");
}

TEST(Asynchrony, WithoutAProfileALabelOfShardedDataParallelTells) {
  EXPECT_EQ(texts(fsdp_step().program(false)),
            (std::vector<std::string>{
                "aten::relu", "_allgather_base: label of sharded data parallel", "aten::relu",
                "aten::relu", "aten::relu", "_reduce_scatter_base: label of sharded data parallel",
                "aten::mul_.Tensor", "aten::relu", "aten::relu"}));
  TracedStep step;
  step.relu(kX, tensor(21, 31, {8}), 10);
  step.communicate("", "_allgather_base", kShard, kWhole, 20, kGather, 1);
  EXPECT_EQ(texts(step.program(false)),
            (std::vector<std::string>{"aten::relu", "_allgather_base: blocking"}));
}

TEST(Asynchrony, ACallOnTheOperatorsStreamIsSynchronous) {
  TracedStep step;
  step.relu(kX, tensor(21, 31, {8}), 10);
  step.communicate("FSDP::all_gather (layer)", "_allgather_base", kShard, kWhole, 20, kOperators,
                   1);
  EXPECT_EQ(texts(step.program()),
            (std::vector<std::string>{"aten::relu", "_allgather_base: blocking"}));
}

TEST(Asynchrony, AnEventOfBeforeTheCallDoesNotJoinItAndTheHostsWaitDoes) {
  TracedStep step;
  step.relu(kX, tensor(21, 31, {8}), 10);
  step.wait(kOperators, kGather, 18, 34);  // recorded before the call was issued
  step.communicate("", "_allgather_base", kShard, kWhole, 20, kGather, 1);
  step.relu(kX, tensor(22, 32, {8}), 40);
  step.wait(std::nullopt, kGather, 30, 50);
  step.relu(kX, tensor(23, 33, {8}), 60);
  EXPECT_EQ(texts(step.program()),
            (std::vector<std::string>{"aten::relu", "_allgather_base: stream of its own",
                                      "aten::relu", "wait: wait of the host", "aten::relu"}));
}

}  // namespace
}  // namespace understudy::generator
