#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "et_schema/base/error.h"
#include "plain_data.h"
#include "replayer/backends/interface/backend.h"
#include "testing/error_text.h"

namespace understudy::tests {
namespace {

using backends::Call;
using backends::GroupId;
using et_schema::CommKind;
using et_schema::DType;

Call sum_of(Data& data, GroupId group) {
  return {.kind = CommKind::kAllReduce,
          .group = group,
          .inputs = {data.buffer()},
          .outputs = {data.buffer()}};
}

std::vector<double> repeated(double number, std::size_t count) {
  return std::vector<double>(count, number);
}

double sum(const std::vector<int>& ranks) {
  return std::accumulate(ranks.begin(), ranks.end(), 0.0,
                         [](double a, int b) { return a + b + 1; });
}

bool contains(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

/// The text of the error that `action` throws; empty if it throws none.
template <typename Action>
std::string error_text(Action&& action) {
  return testing_errors::error_of([&] { return action(); });
}

TEST(Groups, EvenAndOddRanks) {
  std::vector<int> even;
  std::vector<int> odd;
  for (int rank = 0; rank < backend().world_size(); ++rank) {
    (rank % 2 == 0 ? even : odd).push_back(rank);
  }
  const GroupId even_group = backend().make_group("even", even);
  const GroupId odd_group = odd.empty() ? 0 : backend().make_group("odd", odd);
  const bool is_even = backend().rank() % 2 == 0;
  Data data(DType::kFloat32, repeated(backend().rank() + 1, 20001));
  backend().run(sum_of(data, is_even ? even_group : odd_group));
  EXPECT_TRUE(data.holds(repeated(sum(is_even ? even : odd), 20001)));
}

TEST(Groups, OrderOfRanksIsTheGroups) {
  const int ranks = backend().world_size();
  std::vector<int> reversed(static_cast<std::size_t>(ranks));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const GroupId group = backend().make_group("reversed", reversed);
  Data own(DType::kInt32, {static_cast<double>(backend().rank())});
  Data all(DType::kInt32, repeated(-1, static_cast<std::size_t>(ranks)));
  backend().run({.kind = CommKind::kAllGatherBase,
                 .group = group,
                 .inputs = {own.buffer()},
                 .outputs = {all.buffer()}});
  EXPECT_TRUE(all.holds(std::vector<double>(reversed.begin(), reversed.end())));
}

TEST(Groups, OfTheWholeWorldWithoutRanks) {
  const GroupId group = backend().make_group("all", {});
  Data data(DType::kInt32, {1});
  backend().run(sum_of(data, group));
  EXPECT_TRUE(data.holds({static_cast<double>(backend().world_size())}));
}

TEST(Groups, RanksIssueCallsOfOverlappingGroupsInDifferentOrders) {
  const int ranks = backend().world_size();
  const int rank = backend().rank();
  // These are all groups of two neighbours, and three twins of the world.
  std::vector<std::vector<int>> members;
  std::vector<GroupId> groups;
  for (int left = 0; left + 1 < ranks; ++left) {
    members.push_back({left, left + 1});
  }
  for (int twin = 0; twin < 3; ++twin) {
    std::vector<int> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    members.push_back(all);
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    groups.push_back(backend().make_group("group " + std::to_string(i), members[i]));
  }
  std::mt19937 random(static_cast<unsigned>(rank + 1));
  for (int round = 0; round < 20; ++round) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (contains(members[i], rank)) {
        order.push_back(i);
      }
    }
    std::shuffle(order.begin(), order.end(), random);
    const std::size_t count = round % 2 == 0 ? 5 : 30001;
    std::vector<Data> data;
    std::vector<std::unique_ptr<backends::Work>> works;
    data.reserve(order.size());
    for (const std::size_t i : order) {
      data.emplace_back(DType::kFloat64, repeated(rank + 1, count));
      works.push_back(backend().start(sum_of(data.back(), groups[i])));
    }
    // The calls are waited for in yet another order.
    std::vector<std::size_t> waits(order.size());
    std::iota(waits.begin(), waits.end(), std::size_t{0});
    std::shuffle(waits.begin(), waits.end(), random);
    for (const std::size_t position : waits) {
      backend().wait(std::move(works[position]));
      EXPECT_TRUE(data[position].holds(repeated(sum(members[order[position]]), count)));
    }
  }
}

TEST(Async, ManyCallsWaitedForInReverse) {
  struct Started {
    std::unique_ptr<Data> input;
    std::unique_ptr<Data> output;
    std::vector<double> expected;
    std::unique_ptr<backends::Work> work;
  };
  const int ranks = backend().world_size();
  constexpr int kCalls = 200;
  std::mt19937 random(7);  // the same on all ranks
  std::vector<Started> all;
  for (int i = 0; i < kCalls; ++i) {
    const std::size_t count = random() % 20000;
    const bool is_sum = random() % 2 == 0;
    Started& one = all.emplace_back();
    one.input = std::make_unique<Data>(DType::kFloat32, repeated(backend().rank() + i, count));
    one.output = std::make_unique<Data>(DType::kFloat32, repeated(0, count));
    one.expected = repeated(is_sum ? ranks * (ranks - 1) / 2 + ranks * i : i % ranks + i, count);
    one.work = backend().start({.kind = is_sum ? CommKind::kAllReduce : CommKind::kBroadcast,
                                .root_or_peer = i % ranks,
                                .inputs = {one.input->buffer()},
                                .outputs = {one.output->buffer()}});
  }
  for (std::size_t i = all.size(); i-- > 0;) {
    backend().wait(std::move(all[i].work));
    EXPECT_TRUE(all[i].output->holds(all[i].expected)) << "call " << i;
  }
}

TEST(Refused, GroupsThatDifferBetweenRanks) {
  if (backend().world_size() < 2) {
    GTEST_SKIP() << "needs two ranks";
  }
  const std::string name = backend().rank() == 1 ? "other" : "group";
  const std::string text = error_text([&] { (void)backend().make_group(name, {}); });
  std::string ranks;
  for (int rank = 0; rank < backend().world_size(); ++rank) {
    ranks += (rank == 0 ? "" : ", ") + std::to_string(rank);
  }
  const std::string own = "group '" + name + "' of ranks [" + ranks + "]";
  const std::string other = backend().rank() == 1 ? "group" : "other";
  const std::string on = backend().rank() == 1 ? "0" : "1";
  EXPECT_EQ(text, et_schema::to_text(et_schema::run_failed(
                      "ranks make different process groups",
                      {.file = "",
                       .rank = backend().rank(),
                       .node = std::nullopt,
                       .field = own,
                       .expected = "the same group on all ranks, in the same order of making",
                       .got = "group '" + other + "' of ranks [" + ranks + "] on rank " + on,
                       .hint = ""})));
  backend().barrier();  // the job continues
}

TEST(Refused, GroupOfRanksThatAreNotThere) {
  const int ranks = backend().world_size();
  const std::vector<int> beyond = {0, ranks};
  const std::string text = error_text([&] { (void)backend().make_group("far", beyond); });
  EXPECT_NE(text.find("a process group that the job cannot have"), std::string::npos) << text;
  EXPECT_NE(text.find("distinct ranks from 0 to " + std::to_string(ranks - 1)), std::string::npos);
  EXPECT_NE(text.find("[0, " + std::to_string(ranks) + "]"), std::string::npos);
}

TEST(Refused, CallOutsideOfItsGroup) {
  if (backend().world_size() < 2) {
    GTEST_SKIP() << "needs two ranks";
  }
  const std::vector<int> first = {0};
  const GroupId group = backend().make_group("first", first);
  Data data(DType::kInt32, {1});
  if (backend().rank() == 0) {
    backend().run(sum_of(data, group));
    EXPECT_TRUE(data.holds({1}));
    return;
  }
  const std::string text = error_text([&] { backend().run(sum_of(data, group)); });
  EXPECT_NE(text.find("a communication outside of its group"), std::string::npos) << text;
  EXPECT_NE(text.find("group 'first' of ranks [0]"), std::string::npos) << text;
}

TEST(Refused, CallThatDoesNotFitLeavesTheJobRunning) {
  Data data(DType::kFloat8E5M2, {1});
  const std::string text = error_text([&] { backend().run(sum_of(data, 0)); });
  EXPECT_NE(text.find("sum of float8_e5m2"), std::string::npos) << text;
  Data sound(DType::kInt32, {1});
  backend().run(sum_of(sound, 0));
  EXPECT_TRUE(sound.holds({static_cast<double>(backend().world_size())}));
}

}  // namespace
}  // namespace understudy::tests
