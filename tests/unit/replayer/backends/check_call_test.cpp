#include "replayer/backends/interface/check_call.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "et_schema/base/error.h"

namespace understudy::backends {
namespace {

using et_schema::CommKind;
using et_schema::DType;

std::array<std::byte, 4096> memory{};

Buffer floats(std::int64_t count) {
  return {memory.data(), count, DType::kFloat32};
}

const CallPlace kSecondOfFour = {/*world_rank=*/5, "pipeline", /*group_rank=*/1, /*group_size=*/4};

struct Refused {
  const char* name;
  Call call;
  const char* kind;  ///< as the message names it
  const char* field;
  const char* expected;
  const char* got;
  const char* hint = "";
};

Call make_call(CommKind kind, std::vector<Buffer> inputs, std::vector<Buffer> outputs,
               int root = 0) {
  return {.kind = kind,
          .root_or_peer = root,
          .inputs = std::move(inputs),
          .outputs = std::move(outputs)};
}

Call all_to_allv(std::vector<std::int64_t> in_splits, std::vector<std::int64_t> out_splits) {
  Call call = make_call(CommKind::kAllToAllV, {floats(10)}, {floats(10)});
  call.in_splits = std::move(in_splits);
  call.out_splits = std::move(out_splits);
  return call;
}

Call reduction(DType dtype, ReduceOp op, double factor = 1) {
  Call call =
      make_call(CommKind::kAllReduce, {{memory.data(), 4, dtype}}, {{memory.data(), 4, dtype}});
  call.op = op;
  call.factor = factor;
  return call;
}

std::vector<Refused> refused_calls() {
  return {
      {"AllReduceOfOtherSizes", make_call(CommKind::kAllReduce, {floats(4)}, {floats(5)}),
       "allreduce", "outputs[0]", "4 elements", "5"},
      {"AllReduceWithoutOutput", make_call(CommKind::kAllReduce, {floats(4)}, {}), "allreduce",
       "outputs", "1 buffers", "0"},
      {"MixedDTypes",
       make_call(CommKind::kAllReduce, {floats(4)}, {{memory.data(), 4, DType::kInt32}}),
       "allreduce", "outputs[0]", "one known dtype in all buffers of the call",
       "int32 beside float32"},
      {"UnknownDType",
       make_call(CommKind::kBroadcast, {{memory.data(), 4, DType::kUndefined}},
                 {{memory.data(), 4, DType::kUndefined}}),
       "broadcast", "inputs[0]", "one known dtype in all buffers of the call",
       "undefined beside undefined"},
      {"NegativeSize", make_call(CommKind::kAllReduce, {floats(-1)}, {floats(-1)}), "allreduce",
       "inputs[0]", "a size of 0 or more", "-1 elements"},
      {"NoMemory", make_call(CommKind::kSend, {{nullptr, 4, DType::kFloat32}}, {}, 2), "send",
       "inputs[0]", "memory", "none for 4 elements"},
      {"RootBeyondTheGroup", make_call(CommKind::kBroadcast, {floats(4)}, {floats(4)}, 4),
       "broadcast", "root_or_peer", "a rank of the group, 0 to 3", "4"},
      {"PeerBelowZero", make_call(CommKind::kRecv, {}, {floats(4)}, -1), "recv", "root_or_peer",
       "a rank of the group, 0 to 3", "-1"},
      {"AllGatherOfTooFewOutputs",
       make_call(CommKind::kAllGather, {floats(4)}, {floats(4), floats(4), floats(4)}),
       "all_gather", "outputs", "4 buffers", "3"},
      {"AllGatherOwnPartOfAnotherSize",
       make_call(CommKind::kAllGather, {floats(4)}, {floats(4), floats(3), floats(4), floats(4)}),
       "all_gather", "outputs[1]", "4 elements", "3"},
      {"AllGatherBaseOutput", make_call(CommKind::kAllGatherBase, {floats(4)}, {floats(12)}),
       "_allgather_base", "outputs[0]", "16 elements", "12"},
      {"ReduceScatterBaseInput", make_call(CommKind::kReduceScatterBase, {floats(12)}, {floats(4)}),
       "_reduce_scatter_base", "inputs[0]", "16 elements", "12"},
      {"GatherOnTheRootWithoutOutputs", make_call(CommKind::kGather, {floats(4)}, {}, 1), "gather",
       "outputs", "4 buffers", "0"},
      {"AllToAllThatDoesNotDivide", make_call(CommKind::kAllToAll, {floats(6)}, {floats(6)}),
       "all_to_all", "inputs[0]", "a multiple of 4 elements", "6"},
      {"SplitsOfTooFewRanks", all_to_allv({10}, {1, 2, 3, 4}), "all_to_allv", "in_splits",
       "4 splits", "1",
       "the original's group had 1 ranks: generate the benchmark again from the traces of all of "
       "them, or with --allow-missing"},
      {"SplitsThatDoNotAddUp", all_to_allv({1, 2, 3, 4}, {1, 2, 3, 3}), "all_to_allv", "out_splits",
       "splits that add up to the buffer's 10 elements", "[1, 2, 3, 3]"},
      {"SplitsThatOverflow", all_to_allv({INT64_MAX, INT64_MAX, 12, 0}, {1, 2, 3, 4}),
       "all_to_allv", "in_splits", "splits that add up to the buffer's 10 elements",
       "[9223372036854775807, 9223372036854775807, 12, 0]"},
      {"NegativeSplit", all_to_allv({11, -1, 0, 0}, {1, 2, 3, 4}), "all_to_allv", "in_splits",
       "splits that add up to the buffer's 10 elements", "[11, -1, 0, 0]"},
      {"OwnSplitsThatDiffer", all_to_allv({1, 2, 3, 4}, {1, 3, 2, 4}), "all_to_allv",
       "out_splits[1]", "2, as in in_splits", "3"},
      {"SumOfFloat8", reduction(DType::kFloat8E4M3Fn, ReduceOp::kSum), "allreduce", "op",
       "a reduction that is defined on the dtype", "sum of float8_e4m3fn"},
      {"MaximumOfComplexNumbers", reduction(DType::kComplexFloat32, ReduceOp::kMax), "allreduce",
       "op", "a reduction that is defined on the dtype", "max of complex64"},
      {"BitsOfFloats", reduction(DType::kFloat32, ReduceOp::kBxor), "allreduce", "op",
       "a reduction that is defined on the dtype", "bxor of float32"},
      {"FactorOfIntegers", reduction(DType::kInt32, ReduceOp::kSum, 0.5), "allreduce", "factor",
       "1 of anything but a sum of floating-point numbers", "0.5 of sum of int32"},
      {"AverageOfBool", reduction(DType::kBool, ReduceOp::kAvg), "allreduce", "op",
       "a reduction that is defined on the dtype", "avg of bool"},
      {"Wait", make_call(CommKind::kWait, {}, {}), "wait", "kind", "a communication",
       "'wait', which is none"}};
}

TEST(CheckCall, RefusesWhatDoesNotFitWithTheWholeMessage) {
  for (const Refused& refused : refused_calls()) {
    SCOPED_TRACE(refused.name);
    try {
      check_call(refused.call, kSecondOfFour);
      ADD_FAILURE() << "was let through";
    } catch (const et_schema::Error& error) {
      EXPECT_EQ(error.kind(), et_schema::ErrorKind::kFailed);
      EXPECT_EQ(et_schema::to_text(error),
                et_schema::to_text(et_schema::run_failed(
                    std::string("the ") + refused.kind +
                        " in group 'pipeline' does not fit (rank 1 of 4 in it)",
                    {.file = "",
                     .rank = 5,
                     .field = refused.field,
                     .expected = refused.expected,
                     .got = refused.got,
                     .hint = refused.hint})));
    }
  }
}

TEST(CheckCall, TakesWhatFits) {
  const std::vector<Call> calls = {
      make_call(CommKind::kAllReduce, {}, {}),
      make_call(CommKind::kAllReduce, {floats(4), floats(0)}, {floats(4), floats(0)}),
      make_call(CommKind::kBroadcast, {floats(4)}, {floats(4)}, 3),
      make_call(CommKind::kGather, {floats(4)}, {}, 0),
      make_call(CommKind::kGather, {floats(4)}, {floats(1), floats(4), floats(2), floats(3)}, 1),
      make_call(CommKind::kScatter, {}, {floats(4)}, 0),
      make_call(CommKind::kAllGather, {floats(4)}, {floats(1), floats(4), floats(0), floats(3)}),
      make_call(CommKind::kAllToAll, {floats(8)}, {floats(8)}),
      make_call(CommKind::kSend, {{nullptr, 0, DType::kFloat32}}, {}, 1),
      all_to_allv({1, 2, 3, 4}, {8, 2, 0, 0}),
      make_call(CommKind::kBarrier, {}, {})};
  for (const Call& call : calls) {
    EXPECT_NO_THROW(check_call(call, kSecondOfFour));
  }
}

}  // namespace
}  // namespace understudy::backends
