#include "predictor/collectives/profiled_calls.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace understudy::predictor {
namespace {

struct Kernel {
  std::string name;
  std::int64_t elements;  ///< of a rank's input
  std::int64_t start_us;
  std::int64_t us;
  int ranks = 2;
  std::string dtype = "Float";
};

/// Output as large as the input, or of all ranks.
et_schema::Profile profile_of(int rank, const std::vector<Kernel>& kernels) {
  std::string events;
  for (const Kernel& kernel : kernels) {
    const bool is_gather = kernel.name == "_allgather_base";
    events += fmt::format(
        R"({}{{"ph":"X","cat":"kernel","name":"nccl","pid":{},"tid":20,"ts":{},"dur":{},"args":)"
        R"({{"stream":20,"Collective name":"{}","In msg nelems":{},"Out msg nelems":{},)"
        R"("Group size":{},"dtype":"{}","Process Group Name":"0"}}}})",
        events.empty() ? "" : ",", rank, kernel.start_us, kernel.us, kernel.name, kernel.elements,
        is_gather ? kernel.elements * kernel.ranks : kernel.elements, kernel.ranks, kernel.dtype);
  }
  return et_schema::parse_kineto(
      fmt::format(R"({{"schemaVersion":1,{}"traceEvents":[{}]}})",
                  rank < 0 ? ""
                           : fmt::format(R"("distributedInfo":{{"backend":"nccl","rank":{},)"
                                         R"("world_size":2}},)",
                                         rank),
                  events),
      fmt::format("traces/rank{}.json", rank));
}

using LeftOut = std::map<std::string, std::uint64_t>;

TEST(ProfiledCalls, ACollectiveTakesAsLongAsOnTheRankThatCameLast) {
  ProfiledCalls calls;
  // The file's order is not that of time.
  calls.add(profile_of(0, {{"_allgather_base", 256, 900, 40},
                           {"allreduce", 1024, 100, 50},
                           {"allreduce", 1024, 300, 12}}));
  calls.add(profile_of(1, {{"allreduce", 1024, 9130, 20},
                           {"allreduce", 1024, 9290, 22},
                           {"_allgather_base", 256, 9900, 41}}));
  const ReadCollectives read = calls.rows();
  EXPECT_TRUE(read.left_out.empty());
  ASSERT_EQ(read.rows.size(), 2U);
  const CollectiveRow& reduce = read.rows[0];
  EXPECT_EQ(reduce.kind, CommKind::kAllReduce);
  EXPECT_EQ(reduce.bytes, 4096);
  EXPECT_EQ(reduce.ranks, 2);
  EXPECT_EQ(reduce.nodes, 1);
  EXPECT_TRUE(reduce.on_device);
  EXPECT_EQ(reduce.dtype, DType::kFloat32);
  EXPECT_EQ(reduce.n, 2U);
  EXPECT_DOUBLE_EQ(reduce.median_ns, 16'000) << "of 20 and 12 us";
  EXPECT_EQ(reduce.source, "rank1.json");
  EXPECT_EQ(read.rows[1].kind, CommKind::kAllGatherBase);
  EXPECT_EQ(read.rows[1].bytes, 2048) << "what all ranks have then";
  EXPECT_DOUBLE_EQ(read.rows[1].median_ns, 40'000);
}

TEST(ProfiledCalls, AProfileOfEachStepIsAsGoodAsOneOfAll) {
  ProfiledCalls calls;
  for (const std::int64_t step_us : {2000, 0}) {
    for (const int rank : {0, 1}) {
      calls.add(profile_of(rank, {{"allreduce", 1024, step_us, step_us > 0 ? 30 : 10 + rank}}));
    }
  }
  const ReadCollectives read = calls.rows();
  ASSERT_EQ(read.rows.size(), 1U);
  EXPECT_EQ(read.rows[0].n, 2U);
  EXPECT_DOUBLE_EQ(read.rows[0].median_ns, 20'000);
}

TEST(ProfiledCalls, WithoutAllRanksThereIsNoMeasurement) {
  ProfiledCalls calls;
  calls.add(profile_of(0, {{"allreduce", 1024, 0, 50}, {"allreduce", 1024, 100, 50}}));
  const ReadCollectives read = calls.rows();
  EXPECT_TRUE(read.rows.empty());
  EXPECT_EQ(read.left_out,
            (LeftOut{{"communication of ranks of which some have no profile here", 2}}));
}

TEST(ProfiledCalls, WhatRanksShowDifferentlyIsNotPaired) {
  ProfiledCalls calls;
  calls.add(profile_of(0, {{"allreduce", 1024, 0, 50}, {"allreduce", 1024, 100, 50}}));
  calls.add(profile_of(1, {{"allreduce", 1024, 0, 50}, {"broadcast", 1024, 100, 50}}));
  const ReadCollectives read = calls.rows();
  EXPECT_TRUE(read.rows.empty());
  EXPECT_EQ(read.left_out,
            (LeftOut{{"communication of ranks whose profiles show different calls", 2}}));
}

TEST(ProfiledCalls, WhatIsNoCollectiveOfRanksIsCounted) {
  ProfiledCalls calls;
  calls.add(profile_of(-1, {{"allreduce", 1024, 0, 50}}));
  calls.add(profile_of(0, {{"send", 1024, 0, 50},
                           {"barrier", 0, 60, 5},
                           {"allreduce", 1024, 70, 5, 1},
                           {"new_kind", 1024, 80, 5},
                           {"allreduce", 1024, 90, 5, 2, "Float3"}}));
  EXPECT_EQ(calls.rows().left_out,
            (LeftOut{{"communication of a profile that does not name its rank", 1},
                     {"communication of one rank or without data", 2},
                     {"kernels of communication that is not known: allreduce of Float3", 1},
                     {"kernels of communication that is not known: new_kind of Float", 1},
                     {"sends and receives of profiles", 1}}));
}

TEST(ProfiledCalls, ANodeHasRanksWhoseNumbersFollowEachOther) {
  ProfiledCalls calls;
  for (int rank = 0; rank < 16; ++rank) {
    calls.add(profile_of(rank, {{"allreduce", 1024, 0, 50 - rank, 16}}));
  }
  const ReadCollectives read = calls.rows();
  ASSERT_EQ(read.rows.size(), 1U);
  EXPECT_EQ(read.rows[0].nodes, 2);
  EXPECT_DOUBLE_EQ(read.rows[0].median_ns, 35'000);
  EXPECT_EQ(calls.rows(4).rows[0].nodes, 4);
  EXPECT_EQ(calls.rows(16).rows[0].nodes, 1);
}

}  // namespace
}  // namespace understudy::predictor
