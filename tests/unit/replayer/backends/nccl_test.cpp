#include <dlfcn.h>
#include <gtest/gtest.h>

#include "cannot_use.h"
#include "et_schema/base/error.h"
#include "lane.h"
#include "nccl_library.h"
#include "replayer/backends/interface/check_call.h"
#include "replayer/backends/interface/device_communicator.h"
#include "testing/error_text.h"

namespace understudy::backends {
namespace {

using et_schema::CommKind;
using et_schema::DType;

TEST(NcclReduction, NumbersAsTheyAre) {
  EXPECT_EQ(nccl_reduction(DType::kFloat32, ReduceOp::kSum),
            (NcclReduction{NcclDType::kFloat32, NcclOp::kSum, 1}));
  EXPECT_EQ(nccl_reduction(DType::kBFloat16, ReduceOp::kAvg),
            (NcclReduction{NcclDType::kBFloat16, NcclOp::kAvg, 1}));
  EXPECT_EQ(nccl_reduction(DType::kInt64, ReduceOp::kMin),
            (NcclReduction{NcclDType::kInt64, NcclOp::kMin, 1}));
}

TEST(NcclReduction, ComplexNumbersAreTwoEach) {
  EXPECT_EQ(nccl_reduction(DType::kComplexFloat32, ReduceOp::kSum),
            (NcclReduction{NcclDType::kFloat32, NcclOp::kSum, 2}));
  EXPECT_EQ(nccl_reduction(DType::kComplexFloat32, ReduceOp::kProduct), std::nullopt);
}

TEST(NcclReduction, BoolsAreBytesOfZeroAndOne) {
  EXPECT_EQ(nccl_reduction(DType::kBool, ReduceOp::kSum),
            (NcclReduction{NcclDType::kUInt8, NcclOp::kMax, 1}));
  EXPECT_EQ(nccl_reduction(DType::kBool, ReduceOp::kBand),
            (NcclReduction{NcclDType::kUInt8, NcclOp::kMin, 1}));
  EXPECT_EQ(nccl_reduction(DType::kBool, ReduceOp::kBxor), std::nullopt);
}

TEST(NcclReduction, WhatNcclLacks) {
  EXPECT_EQ(nccl_reduction(DType::kInt16, ReduceOp::kSum), std::nullopt);
  EXPECT_EQ(nccl_reduction(DType::kInt32, ReduceOp::kBor), std::nullopt);
  EXPECT_EQ(nccl_reduction(DType::kFloat8E5M2, ReduceOp::kSum), std::nullopt);
}

TEST(NcclReduction, NoneThatIsNotDefined) {
  for (int number = 0; number <= static_cast<int>(DType::kFloat8E8M0Fnu); ++number) {
    for (int op = 0; op <= static_cast<int>(ReduceOp::kBxor); ++op) {
      const auto dtype = static_cast<DType>(number);
      const auto reduce_op = static_cast<ReduceOp>(op);
      if (nccl_reduction(dtype, reduce_op)) {
        EXPECT_TRUE(can_reduce(dtype, reduce_op)) << number << ' ' << op;
      }
    }
  }
}

Call call_of(CommKind kind, GroupId group, int peer) {
  Call call;
  call.kind = kind;
  call.group = group;
  call.root_or_peer = peer;
  return call;
}

TEST(Lanes, CollectivesOfAGroupShareOne) {
  EXPECT_EQ(lane_of(call_of(CommKind::kAllReduce, 2, 0), 1), (LaneKey{.group = 2}));
  EXPECT_EQ(lane_of(call_of(CommKind::kBroadcast, 2, 3), 1), (LaneKey{.group = 2}));
}

TEST(Lanes, MessagesHaveOneForEachDirection) {
  const LaneKey there = lane_of(call_of(CommKind::kSend, 4, 2), 1);
  EXPECT_EQ(there, (LaneKey{4, 1, 2}));
  EXPECT_EQ(lane_of(call_of(CommKind::kRecv, 4, 1), 2), there);  // the other end
  EXPECT_EQ(lane_of(call_of(CommKind::kRecv, 4, 2), 1), (LaneKey{4, 2, 1}));
}

TEST(Lanes, MessagesOfAPairShareOneWhereThatIsRecorded) {
  Call call = call_of(CommKind::kSend, 4, 2);
  call.path = MessagePath::kPair;
  EXPECT_EQ(lane_of(call, 1), (LaneKey{4, 1, 2, true}));
  call.kind = CommKind::kRecv;
  EXPECT_EQ(lane_of(call, 1), (LaneKey{4, 1, 2, true}));
  EXPECT_EQ(lane_of(call, 3), (LaneKey{4, 2, 3, true}));
}

TEST(Lanes, BatchesAreOnTheGroups) {
  Call call = call_of(CommKind::kRecv, 4, 2);
  call.path = MessagePath::kBatch;
  EXPECT_EQ(lane_of(call, 1), (LaneKey{.group = 4}));
}

TEST(Lanes, AsRanksTellEachOther) {
  const std::set<LaneKey> first = {{.group = 0}, {3, 0, 1}};
  const std::set<LaneKey> second = {{.group = 0}, {3, 1, 0}};
  EXPECT_EQ(to_text(first), "0 -1 -1 0\n3 0 1 0\n");
  const std::vector<std::string> texts = {to_text(first), "", to_text(second)};
  EXPECT_EQ(parse_lanes(texts), (std::set<LaneKey>{{.group = 0}, {3, 0, 1}, {3, 1, 0}}));
}

TEST(Lanes, TextThatIsNoneIsRefused) {
  for (const char* const text : {"0 -1 -1\n", "0 -1 -1 0 2\n", "0 -1 -1 2\n", "a b c\n", "\n"}) {
    try {
      static_cast<void>(parse_lanes(std::vector<std::string>{text}));
      ADD_FAILURE() << text;
    } catch (const et_schema::Error& error) {
      const std::string line(text, std::string_view(text).size() - 1);
      EXPECT_EQ(et_schema::to_text(error),
                et_schema::to_text(et_schema::run_failed(
                    "ranks do not understand each other",
                    {.field = "lanes",
                     .expected = "a group, two ranks, and whether both send, in each line",
                     .got = line,
                     .hint = "Start the same version of replay on all ranks."})));
    }
  }
}

TEST(CannotUse, NamesTheFunctionThatALibraryLacks) {
  const et_schema::SharedLibrary library(RTLD_DEFAULT, cannot_use("NCCL", "Install it."));
  int (*function)() = nullptr;
  EXPECT_EQ(testing_errors::error_of([&] { return library.find(function, "no_such_function"); }),
            "NCCL cannot be used\n"
            "  field:    NCCL\n"
            "  expected: no_such_function\n"
            "  got:      a library without it\n"
            "  hint:     Install it. --comms host sends tensors through host memory instead.");
}

TEST(NcclModule, WithoutADriverSaysWhatToDo) {
  if (dlopen("libcuda.so.1", RTLD_LAZY) != nullptr) {
    GTEST_SKIP() << "this machine has a driver";
  }
  const auto host = make_single_backend({});
  EXPECT_EQ(testing_errors::error_of([&] { return connect_devices(*host, {}); }),
            et_schema::to_text(et_schema::usage_error(
                "CUDA's driver cannot be used",
                {.field = "CUDA's driver",
                 .expected = "libcuda.so.1",
                 .got = "libcuda.so.1: cannot open shared object file: No such file or directory",
                 .hint = "The driver comes with the GPU's system. --comms host sends tensors "
                         "through host memory instead."})));
}

}  // namespace
}  // namespace understudy::backends
