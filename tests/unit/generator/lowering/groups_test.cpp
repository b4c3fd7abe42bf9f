#include "generator/lowering/groups.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

using et_schema::CommCall;
using et_schema::Losses;
using et_schema::ProcessGroup;
using Lists = std::vector<std::vector<ProcessGroup>>;

/// Traces of ranks 0, 1, … with these lists of groups.
std::vector<Trace> traces(Lists lists) {
  std::vector<Trace> traces;
  for (std::vector<ProcessGroup>& list : lists) {
    Trace trace;
    trace.rank = static_cast<int>(traces.size());
    trace.process_groups = std::move(list);
    traces.push_back(std::move(trace));
  }
  return traces;
}

CommCall call(const std::string& name, const std::string& description = "") {
  CommCall call;
  call.kind = CommKind::kAllReduce;
  call.pg_name = name;
  call.pg_desc = description;
  return call;
}

// As torch lists them: without ranks where a group has all.
const ProcessGroup kDefault{"0", "default_pg", "nccl", {}, 2};
const ProcessGroup kTwin{"1", "replicate", "nccl", {}, 2};
const ProcessGroup kOther{"2", "shard", "nccl", {}, 2};

TEST(Groups, OfAllRanksBesideTheDefaultGroupAreTheirOwn) {
  const std::vector<Trace> both = traces({{kDefault, kTwin, kOther}, {kDefault, kTwin, kOther}});
  Groups groups(both, 2);
  Losses losses;
  for (const Trace& trace : both) {
    EXPECT_EQ(groups.find(trace, call("0"), losses), 0U);
    EXPECT_EQ(groups.find(trace, call("1"), losses), 1U);
    EXPECT_EQ(groups.find(trace, call("2"), losses), 2U);
  }
  EXPECT_EQ(losses, Losses());
  const std::vector<std::int64_t> world = {0, 1};
  EXPECT_EQ(groups.take(), (std::vector<ProcessGroup>{{"world", "", "", world, 2},
                                                      {"1", "replicate", "nccl", world, 2},
                                                      {"2", "shard", "nccl", world, 2}}));
}

TEST(Groups, TheDefaultGroupIsTheOneThatSaysSoElseTheFirst) {
  const std::vector<Trace> said = traces({{kTwin, kDefault}, {kTwin, kDefault}});
  Losses losses;
  EXPECT_EQ(Groups(said, 2).find(said[0], call("0"), losses), 0U);
  EXPECT_EQ(Groups(said, 2).find(said[0], call("1"), losses), 1U);
  const std::vector<Trace> unsaid = traces({{kTwin, kOther}, {kTwin, kOther}});
  EXPECT_EQ(Groups(unsaid, 2).find(unsaid[0], call("1"), losses), 0U);
  EXPECT_EQ(Groups(unsaid, 2).find(unsaid[0], call("2"), losses), 1U);
}

TEST(Groups, NamedByAddressesAreTheSameInTheSamePlace) {
  // Torch 2.0 and 2.1: each rank has addresses of its own.
  const auto list = [](const std::string& digit) {
    return std::vector<ProcessGroup>{{"9400000000000" + digit, "", "", {0, 1}, 2},
                                     {"9410000000000" + digit, "", "", {0, 1}, 2},
                                     {"9420000000000" + digit, "", "", {0, 1}, 2}};
  };
  const std::vector<Trace> both = traces({list("1"), list("2")});
  Groups groups(both, 2);
  Losses losses;
  EXPECT_EQ(groups.find(both[0], call("94000000000001"), losses), 0U);
  EXPECT_EQ(groups.find(both[1], call("94000000000002"), losses), 0U);
  EXPECT_EQ(groups.find(both[0], call("94100000000001"), losses), 1U);
  EXPECT_EQ(groups.find(both[1], call("94100000000002"), losses), 1U);
  EXPECT_EQ(groups.find(both[1], call("94200000000002"), losses), 2U);
  EXPECT_EQ(groups.take().size(), 3U);
}

TEST(Groups, OfTorchsFakeKindSaySoAndTheirCallsAreAssumed) {
  const std::vector<Trace> one = traces({{{"0", "default_pg", "cpu:fake,cuda:fake", {}, 2}}});
  Groups groups(one, 2);
  Losses losses;
  EXPECT_EQ(groups.find(one[0], call("0"), losses), 0U);
  EXPECT_EQ(losses[et_schema::Loss::kAssumedCommunication], 1U);
  EXPECT_EQ(groups.take()[0].backend, "cpu:fake,cuda:fake");
}

TEST(Groups, ThatNoListShowsAreToldByTheCall) {
  const std::vector<Trace> both = traces({{}, {}});
  Groups groups(both, 2);
  Losses losses;
  const auto strided = [&](const std::string& name, const std::string& description) {
    CommCall made = call(name, description);
    made.global_rank_start = 0;
    made.global_rank_stride = 1;
    made.group_size = 2;
    return groups.find(both[0], made, losses);
  };
  EXPECT_EQ(strided("7", "default_pg"), 0U);
  EXPECT_EQ(strided("0", ""), 0U);
  EXPECT_EQ(strided("", ""), 0U);
  EXPECT_EQ(strided("7", "replicate"), 1U);
  EXPECT_EQ(strided("7", "replicate"), 1U);
  EXPECT_EQ(losses[et_schema::Loss::kAssumedCommunication], 0U);
  EXPECT_EQ(strided("94000000000001", ""), 0U);  // nothing tells it on another rank
  EXPECT_EQ(losses[et_schema::Loss::kAssumedCommunication], 1U);
}

}  // namespace
}  // namespace understudy::generator
