#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <utility>
#include <vector>

#include "et_schema/base/error.h"
#include "replayer/backends/interface/backend.h"
#include "testing/error_text.h"

namespace understudy::backends {
namespace {

using et_schema::CommKind;
using et_schema::DType;
using Numbers = std::vector<std::int32_t>;

Buffer buffer(Numbers& numbers) {
  return {numbers.data(), static_cast<std::int64_t>(numbers.size()), DType::kInt32};
}

Buffer part(Numbers& numbers, std::size_t first, std::size_t count) {
  return {numbers.data() + first, static_cast<std::int64_t>(count), DType::kInt32};
}

Call make_call(CommKind kind, GroupId group = 0, int root = 0) {
  return {.kind = kind, .group = group, .root_or_peer = root};
}

/// Rank 2 of 4, alone.
std::unique_ptr<Backend> third_of_four() {
  BackendOptions options;
  options.rank = 2;
  options.world_size = 4;
  return make_single_backend(options);
}

TEST(Single, IsAJobOfOneRank) {
  const auto backend = make_single_backend({});
  EXPECT_EQ(backend->name(), "single");
  EXPECT_EQ(backend->rank(), 0);
  EXPECT_EQ(backend->world_size(), 1);
  EXPECT_EQ(backend->all_gather_text("text"), std::vector<std::string>{"text"});
  backend->barrier();
}

TEST(Single, CollectivesOfOneRankAreExact) {
  const auto backend = make_single_backend({});
  Numbers input = {1, 2, 3};
  for (const CommKind kind :
       {CommKind::kAllReduce, CommKind::kBroadcast, CommKind::kReduce, CommKind::kAllGather,
        CommKind::kAllGatherBase, CommKind::kReduceScatter, CommKind::kReduceScatterBase,
        CommKind::kGather, CommKind::kScatter, CommKind::kAllToAll, CommKind::kAllToAllV}) {
    Numbers output = {0, 0, 0};
    Call call = make_call(kind);
    call.inputs = {buffer(input)};
    call.outputs = {buffer(output)};
    if (kind == CommKind::kAllToAllV) {
      call.in_splits = call.out_splits = {3};
    }
    backend->wait(backend->start(call));
    EXPECT_EQ(output, input) << et_schema::to_string(kind);
  }
}

TEST(Single, WhatIsOnlySentIsReadUnlessItIsToCostNothing) {
  for (const bool reads_sent : {true, false}) {
    std::size_t moved_bytes = 0;
    std::vector<std::byte> staging(static_cast<std::size_t>(kStagingBytes));
    BackendOptions options;
    options.world_size = 2;
    options.reads_sent = reads_sent;
    options.device_moves =
        DeviceMoves{[&](void*, const void*, std::size_t bytes) { moved_bytes += bytes; },
                    [](void*, std::size_t) {}, staging.data()};
    const auto backend = make_single_backend(options);
    Numbers numbers = {1, 2, 3};
    Call reduced = make_call(CommKind::kAllReduce);
    reduced.inputs = reduced.outputs = {buffer(numbers)};
    Call sent = make_call(CommKind::kSend, 0, 1);
    sent.inputs = {buffer(numbers)};
    for (Call* const call : {&reduced, &sent}) {
      call->memory = et_schema::DeviceType::kCuda;
      backend->run(*call);
    }
    EXPECT_EQ(moved_bytes, reads_sent ? 2 * sizeof(std::int32_t) * numbers.size() : 0);
  }
}

TEST(Single, AllReduceInPlaceKeepsTheOwnContribution) {
  const auto backend = third_of_four();
  // More than one block of the pass through local memory.
  Numbers data(700001);
  std::iota(data.begin(), data.end(), 0);
  const Numbers before = data;
  Call call = make_call(CommKind::kAllReduce);
  call.inputs = call.outputs = {buffer(data)};
  backend->run(call);
  EXPECT_EQ(data, before);
}

TEST(Single, AllGatherRepeatsTheOwnPart) {
  const auto backend = third_of_four();
  Numbers input = {7, 8};
  Numbers whole(8, 0);
  backend->run(
      {.kind = CommKind::kAllGatherBase, .inputs = {buffer(input)}, .outputs = {buffer(whole)}});
  EXPECT_EQ(whole, (Numbers{7, 8, 7, 8, 7, 8, 7, 8}));

  std::vector<Numbers> parts = {{0}, {}, {0, 0}, {0, 0, 0, 0, 0}};
  Call uneven = make_call(CommKind::kAllGather);
  uneven.inputs = {buffer(input)};
  for (Numbers& numbers : parts) {
    uneven.outputs.push_back(buffer(numbers));
  }
  backend->run(uneven);
  EXPECT_EQ(parts, (std::vector<Numbers>{{7}, {}, {7, 8}, {7, 8, 7, 8, 7}}));
}

TEST(Single, AllGatherBaseInPlace) {
  const auto backend = third_of_four();
  Numbers whole = {0, 0, 0, 0, 5, 6, 0, 0};
  backend->run({.kind = CommKind::kAllGatherBase,
                .inputs = {part(whole, 4, 2)},
                .outputs = {buffer(whole)}});
  EXPECT_EQ(whole, (Numbers{5, 6, 5, 6, 5, 6, 5, 6}));
}

TEST(Single, ReduceScatterAndScatterTakeTheOwnPart) {
  const auto backend = third_of_four();
  Numbers input = {0, 1, 2, 3, 4, 5, 6, 7};
  Numbers output(2);
  backend->run({.kind = CommKind::kReduceScatterBase,
                .inputs = {buffer(input)},
                .outputs = {buffer(output)}});
  EXPECT_EQ(output, (Numbers{4, 5}));

  for (const CommKind kind : {CommKind::kReduceScatter, CommKind::kScatter}) {
    output = {0, 0};
    backend->run(
        {.kind = kind,
         .root_or_peer = 2,
         .inputs = {part(input, 0, 1), part(input, 1, 3), part(input, 6, 2), part(input, 0, 0)},
         .outputs = {buffer(output)}});
    EXPECT_EQ(output, (Numbers{6, 7}));
  }
}

TEST(Single, WhatOthersWouldHaveSentIsZero) {
  const auto backend = third_of_four();
  Numbers output = {1, 1};
  backend->run({.kind = CommKind::kScatter, .root_or_peer = 0, .outputs = {buffer(output)}});
  EXPECT_EQ(output, (Numbers{0, 0}));
  output = {1, 1};
  backend->run({.kind = CommKind::kRecv, .root_or_peer = 1, .outputs = {buffer(output)}});
  EXPECT_EQ(output, (Numbers{0, 0}));
}

TEST(Single, GatherFillsAllPartsOnTheRootAndSendsElsewhere) {
  const auto backend = third_of_four();
  Numbers input = {3, 4};
  std::vector<Numbers> parts = {{0, 0}, {0}, {0, 0}, {0, 0, 0}};
  Call root = make_call(CommKind::kGather, 0, 2);
  root.inputs = {buffer(input)};
  for (Numbers& numbers : parts) {
    root.outputs.push_back(buffer(numbers));
  }
  backend->run(root);
  EXPECT_EQ(parts, (std::vector<Numbers>{{3, 4}, {3}, {3, 4}, {3, 4, 3}}));
  backend->run({.kind = CommKind::kGather, .root_or_peer = 1, .inputs = {buffer(input)}});
  EXPECT_EQ(input, (Numbers{3, 4}));
}

TEST(Single, AllToAllVRepeatsOrCutsTheInput) {
  const auto backend = third_of_four();
  Numbers input = {1, 2, 3};
  Numbers longer(8, 0);
  Call call = make_call(CommKind::kAllToAllV);
  call.inputs = {buffer(input)};
  call.outputs = {buffer(longer)};
  call.in_splits = {1, 1, 1, 0};
  call.out_splits = {3, 3, 1, 1};
  backend->run(call);
  EXPECT_EQ(longer, (Numbers{1, 2, 3, 1, 2, 3, 1, 2}));

  Numbers shorter(2, 0);
  call.outputs = {buffer(shorter)};
  call.out_splits = {0, 1, 1, 0};
  backend->run(call);
  EXPECT_EQ(shorter, (Numbers{1, 2}));

  Numbers nothing;
  call.inputs = {buffer(nothing)};
  call.in_splits = {0, 0, 0, 0};
  call.outputs = {buffer(shorter)};
  call.out_splits = {1, 0, 0, 1};
  backend->run(call);
  EXPECT_EQ(shorter, (Numbers{0, 0}));
}

TEST(Single, RankWithinASubGroup) {
  const auto backend = third_of_four();
  const std::vector<int> ranks = {3, 2};
  const GroupId group = backend->make_group("reversed pair", ranks);
  Numbers input = {1, 2};
  Numbers output = {0};
  backend->run({.kind = CommKind::kReduceScatterBase,
                .group = group,
                .inputs = {buffer(input)},
                .outputs = {buffer(output)}});
  EXPECT_EQ(output, (Numbers{2}));
}

TEST(Single, RefusesAGroupThatWasNotMade) {
  const auto backend = make_single_backend({});
  EXPECT_EQ(testing_errors::error_of([&] { backend->run(make_call(CommKind::kBarrier, 7)); }),
            testing_errors::told("a communication of an unknown group", "field: group",
                                 "expected: a group that was made, 0 to 0", "got: 7"));
}

TEST(Single, RefusesACallThatDoesNotFit) {
  const auto backend = third_of_four();
  Numbers input = {1};
  Numbers output = {0, 0, 0};
  Call call = make_call(CommKind::kAllGatherBase);
  call.inputs = {buffer(input)};
  call.outputs = {buffer(output)};
  EXPECT_THROW(backend->run(call), et_schema::Error);
}

/// Calls of one group run in the order in which they were issued, those of others beside them.
TEST(Single, ACallEndsWhenItsTimeHasPassed) {
  using namespace std::chrono_literals;
  using Clock = std::chrono::steady_clock;
  const auto backend = third_of_four();
  const std::vector<int> pair = {2, 3};
  const GroupId group = backend->make_group("pair", pair);
  Numbers numbers = {1, 2};
  Call call = make_call(CommKind::kAllReduce);
  call.inputs = call.outputs = {buffer(numbers)};
  call.lasts = 30ms;
  Call beside = call;
  beside.group = group;
  beside.lasts = 20ms;
  const Clock::time_point begin = Clock::now();
  auto first = backend->start(call);
  auto second = backend->start(call);
  auto other = backend->start(beside);
  const Clock::time_point issued = Clock::now();
  const Ended other_end = backend->wait(std::move(other));
  const Ended second_end = backend->wait(std::move(second));
  EXPECT_GE(Clock::now() - begin, 60ms);
  const Ended first_end = backend->wait(std::move(first));
  ASSERT_TRUE(first_end && second_end && other_end);
  EXPECT_EQ(*second_end - *first_end, 30ms);
  EXPECT_GE(*first_end - begin, 30ms);
  EXPECT_LE(*first_end - issued, 30ms);
  EXPECT_GE(*other_end - begin, 20ms);
  EXPECT_LE(*other_end - issued, 20ms);
  const Clock::time_point blocking = Clock::now();
  backend->run(call);
  EXPECT_GE(Clock::now() - blocking, 30ms);
  EXPECT_EQ(numbers, (Numbers{1, 2}));
}

}  // namespace
}  // namespace understudy::backends
