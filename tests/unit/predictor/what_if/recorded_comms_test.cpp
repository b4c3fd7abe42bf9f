#include <gtest/gtest.h>

#include "../simulate/hand_made.h"
#include "predictor/what_if/recorded_costs.h"

namespace understudy::predictor {
namespace {

using et_schema::CommKind;
using et_schema::Timing;
using testing::HandMade;

Timing kernel(std::int64_t device_ns) {
  return Timing{.device_ns = device_ns, .launches = 1, .stream = 20};
}

/// Two ranks that reduce one size twice and another once.
void make_two_ranks(HandMade& made, bool is_last_seen) {
  for (const std::int64_t waited_ns : {0, 700}) {
    made.begin_program();
    const auto small = made.cuda(1024);
    const auto large = made.cuda(4096);
    made.comm(CommKind::kAllReduce, {small}, 0, 0, true).timing = kernel(1'000 + waited_ns);
    made.comm(CommKind::kAllReduce, {small}, 0, 0, true).timing = kernel(3'700 - waited_ns);
    auto& last = made.comm(CommKind::kAllReduce, {large}, 0, 0, true);
    if (is_last_seen || waited_ns == 0) {
      last.timing = kernel(9'000);
    }
  }
}

TEST(RecordedComms, TakeAsLongAsOnTheRankThatCameLast) {
  HandMade made;
  make_two_ranks(made, true);
  const ReadCollectives comms = recorded_comms(made.job({0, 1}), "bench.et");
  ASSERT_EQ(comms.rows.size(), 2U);
  const CollectiveRow& small = comms.rows[0];
  EXPECT_EQ(small.kind, CommKind::kAllReduce);
  EXPECT_EQ(small.bytes, 1024);
  EXPECT_EQ(small.ranks, 2);
  EXPECT_EQ(small.nodes, 1);
  EXPECT_TRUE(small.on_device);
  EXPECT_EQ(small.n, 2U);
  EXPECT_DOUBLE_EQ(small.median_ns, 2'000) << "of 1,000 and 3,000";
  EXPECT_DOUBLE_EQ(small.spread_ns, 800);
  EXPECT_EQ(small.source, "bench.et");
  EXPECT_EQ(comms.rows[1].bytes, 4096);
  EXPECT_DOUBLE_EQ(comms.rows[1].median_ns, 9'000);
  EXPECT_TRUE(comms.left_out.empty());
}

TEST(RecordedComms, ACallThatARankDoesNotShowIsNoMeasurement) {
  HandMade made;
  make_two_ranks(made, false);
  const ReadCollectives comms = recorded_comms(made.job({0, 1}), "bench.et");
  EXPECT_EQ(comms.rows.size(), 1U);
  EXPECT_EQ(comms.left_out, (std::map<std::string, std::uint64_t>{
                                {"communication that not all of its ranks' profiles show", 1}}));
}

TEST(RecordedComms, ARankForAllIsNoMeasurement) {
  HandMade made;
  made.begin_program();
  made.comm(CommKind::kAllReduce, {made.cuda(1024)}, 0, 0, true).timing = kernel(1'000);
  const ReadCollectives comms = recorded_comms(made.job({0, 0}), "bench.et");
  EXPECT_TRUE(comms.rows.empty());
  EXPECT_EQ(comms.left_out.size(), 1U);
}

TEST(RecordedComms, OfACpuAreLeftToCalibrate) {
  HandMade made;
  for (int rank = 0; rank < 2; ++rank) {
    made.begin_program();
    made.comm(CommKind::kAllReduce, {made.cpu(1024)}, 0, 0, false).timing = Timing{.host_ns = 9};
    made.comm(CommKind::kBarrier, {}, 0, 0, false);
  }
  const ReadCollectives comms = recorded_comms(made.job({0, 1}), "bench.et");
  EXPECT_TRUE(comms.rows.empty());
  EXPECT_EQ(comms.left_out, (std::map<std::string, std::uint64_t>{
                                {"communication of a CPU, whose recorded times hold waits", 1},
                                {"communication of one rank or without data", 1}}));
}

}  // namespace
}  // namespace understudy::predictor
