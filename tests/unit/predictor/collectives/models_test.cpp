#include "predictor/collectives/models.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/base/json_fields.h"
#include "et_schema/model/comm_traits.h"
#include "synthetic_rows.h"
#include "testing/error_text.h"

namespace understudy::predictor {
namespace {

using et_schema::CommKind;

GroupComm call_of(CommKind kind, std::int64_t bytes, int ranks, int nodes = 1) {
  return {{kind, bytes, ranks, nodes}};
}

CollectiveModels only_all_reduce() {
  return fit_collectives(exact_rows(CommKind::kAllReduce, {2, 4, 8}));
}

class EachKind : public testing::TestWithParam<int> {};

TEST_P(EachKind, IsAnsweredFromAllReduceByItsTraffic) {
  const CollectiveModels models = only_all_reduce();
  const int ranks = GetParam();
  for (std::size_t i = 0; i < et_schema::kCommKinds; ++i) {
    const auto kind = static_cast<CommKind>(i);
    const Estimate answer = estimate(models, call_of(kind, 1 << 20, ranks));
    if (kind == CommKind::kWait || kind == CommKind::kInit) {
      EXPECT_EQ(answer.ns, 0);
      EXPECT_EQ(answer.model, "no communication");
      continue;
    }
    EXPECT_GT(answer.ns, 0) << et_schema::to_string(kind);
    EXPECT_LT(answer.low_ns, answer.ns);
    EXPECT_GT(answer.high_ns, answer.ns);
    const bool is_own = kind == CommKind::kAllReduce && ranks > 1;
    EXPECT_EQ(answer.modelled, is_own) << et_schema::to_string(kind);
    if (ranks > 1) {
      const std::int64_t size = kind == CommKind::kBarrier ? 0 : 1 << 20;
      EXPECT_NEAR(answer.ns / exact_row(kind, size, ranks).median_ns, 1, 1e-6)
          << et_schema::to_string(kind);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, EachKind, testing::Values(1, 2, 3, 4, 8));

TEST(CollectiveModels, ADerivedKindSaysWhatItComesFrom) {
  const Estimate answer = estimate(only_all_reduce(), call_of(CommKind::kAllGather, 1 << 20, 4));
  EXPECT_EQ(answer.model, "as allreduce: alpha_beta+residual");
  EXPECT_TRUE(answer.extrapolated);
  EXPECT_GT(answer.high_ns / answer.ns, 1.4);
}

TEST(CollectiveModels, SplitsTakeWhatTheBusiestLinkTakes) {
  const CollectiveModels models = fit_collectives(exact_rows(CommKind::kAllToAll, {2, 4}));
  GroupComm call = call_of(CommKind::kAllToAllV, 1 << 20, 2);
  call.sent_bytes = {500, 3 << 20, 1 << 20, 7};
  const Estimate answer = estimate(models, call);
  EXPECT_TRUE(answer.modelled);
  EXPECT_NEAR(answer.ns, exact_row(CommKind::kAllToAll, 6 << 20, 2).median_ns, 1e-2);
}

TEST(CollectiveModels, ReductionsCostMoreThanWhatTheyMove) {
  std::vector<CollectiveRow> rows = exact_rows(CommKind::kAllGatherBase, {2, 4});
  for (CollectiveRow row : exact_rows(CommKind::kAllReduce, {2, 4})) {
    row.median_ns +=
        0.05 * traffic_of(row.kind, static_cast<double>(row.bytes), row.ranks).reduced_bytes;
    rows.push_back(row);
  }
  const CollectiveModels models = fit_collectives(rows);
  ASSERT_EQ(models.platforms.size(), 1U);
  EXPECT_NEAR(models.platforms[0].common.gamma_ns_per_byte, 0.05, 1e-6);
  // A broadcast moves as an all-gather does and combines nothing.
  const Estimate answer = estimate(models, call_of(CommKind::kBroadcast, 1 << 24, 4));
  EXPECT_NEAR(answer.ns / exact_row(CommKind::kBroadcast, 1 << 24, 4).median_ns, 1, 1e-6);
}

TEST(CollectiveModels, SeveralNodesAreBoundByTheNetworkBetweenThem) {
  std::vector<CollectiveRow> rows = exact_rows(CommKind::kAllReduce, {2, 4, 8});
  for (CollectiveRow row : exact_rows(CommKind::kAllReduce, {16})) {
    row.nodes = 2;
    row.median_ns = 2 * 50000.0 + node_bytes(row.kind, static_cast<double>(row.bytes), 16, 2);
    rows.push_back(row);
  }
  const CollectiveModels models = fit_collectives(rows);
  ASSERT_TRUE(models.platforms[0].between_nodes);
  EXPECT_NEAR(models.platforms[0].between_nodes->step_ns, 50000, 1);
  EXPECT_NEAR(models.platforms[0].between_nodes->ns_per_byte, 1, 1e-6);
  const Estimate measured = estimate(models, call_of(CommKind::kAllReduce, 1 << 20, 16, 2));
  EXPECT_EQ(measured.model, "alpha_beta+residual");
  const Estimate answer = estimate(models, call_of(CommKind::kAllReduce, 1 << 20, 32, 4));
  EXPECT_EQ(answer.model, "two_levels");
  EXPECT_TRUE(answer.extrapolated);
  EXPECT_NEAR(answer.ns, 2 * 50000.0 * 2 + node_bytes(CommKind::kAllReduce, 1 << 20, 32, 4), 10);
}

/// 10 us a step on 8 ranks of a node; nobody sends 1,024 messages one after the other.
TEST(CollectiveModels, SmallMessagesGrowWithTheLogarithmOfTheRanks) {
  CollectiveModels models = only_all_reduce();
  const GroupComm call = call_of(CommKind::kAllReduce, 4096, 1024, 128);
  const double node_ns = exact_row(CommKind::kAllReduce, 4096, 8).median_ns;
  EXPECT_NEAR(estimate(models, call).ns, node_ns * 10 / 3, 0.1 * node_ns) << "as on one node";
  models.platforms[0].between_nodes = NodeNetwork{20000, 0.1, 0.1};
  const Estimate two_levels = estimate(models, call);
  EXPECT_EQ(two_levels.model, "two_levels");
  EXPECT_NEAR(two_levels.ns, 2 * 7 * 20000, 2000);
  // A fast network: a node's own links decide, asked for the ranks that they were measured on.
  models.platforms[0].between_nodes = NodeNetwork{1, 1e-6, 0.1};
  EXPECT_NEAR(estimate(models, call).ns / node_ns, 1, 0.01);
}

TEST(CollectiveModels, NodesWithoutANetworkAreABound) {
  const Estimate one = estimate(only_all_reduce(), call_of(CommKind::kAllReduce, 1 << 20, 8));
  const Estimate two = estimate(only_all_reduce(), call_of(CommKind::kAllReduce, 1 << 20, 8, 2));
  EXPECT_EQ(two.ns, one.ns);
  EXPECT_EQ(two.low_ns, one.ns);
  EXPECT_GT(two.high_ns, 9 * one.ns);
  EXPECT_FALSE(two.modelled);
  EXPECT_EQ(two.model, "one node: alpha_beta+residual");
}

TEST(CollectiveModels, HostsAreNotGpus) {
  GroupComm call = call_of(CommKind::kAllReduce, 1 << 20, 4);
  call.on_device = false;
  const Estimate answer = estimate(only_all_reduce(), call);
  EXPECT_FALSE(answer.modelled);
  EXPECT_GT(answer.high_ns / answer.ns, 1.9);
}

TEST(CollectiveModels, AnotherElementTypeWidensAReduction) {
  GroupComm call = call_of(CommKind::kAllReduce, 1 << 20, 4);
  call.dtype = et_schema::DType::kBFloat16;
  const Estimate answer = estimate(only_all_reduce(), call);
  EXPECT_GT(answer.high_ns / answer.ns, 1.2);
  EXPECT_TRUE(answer.modelled);
}

/// A profile often tells one size of a kind, and a small one.
TEST(CollectiveModels, OneSizeDoesNotTellWhatAByteTakes) {
  std::vector<CollectiveRow> rows = exact_rows(CommKind::kAllReduce, {4});
  rows.push_back(exact_row(CommKind::kAllToAll, 192, 4));
  const GroupComm large = call_of(CommKind::kAllToAll, 1 << 28, 4);
  const Estimate answer = estimate(fit_collectives(rows), large);
  EXPECT_NEAR(answer.ns / exact_row(CommKind::kAllToAll, 1 << 28, 4).median_ns, 1, 0.05);
  EXPECT_EQ(answer.model, "as others move bytes: alpha_beta+residual");
  EXPECT_TRUE(answer.extrapolated);
  EXPECT_TRUE(answer.modelled);
  EXPECT_GT(answer.high_ns / answer.ns, 1.4);
}

TEST(CollectiveModels, OneSizeOfOneKindIsABoundForOthers) {
  const CollectiveModels models = fit_collectives({exact_row(CommKind::kAllReduce, 192, 4)});
  const Estimate answer = estimate(models, call_of(CommKind::kAllReduce, 1 << 28, 4));
  EXPECT_GT(answer.ns, 1e7) << "at least 10 GB/s are assumed";
  EXPECT_TRUE(answer.extrapolated);
}

TEST(CollectiveModels, ASeriesNearTheSizeIsBetterThanOneOfTheElementType) {
  std::vector<CollectiveRow> rows = exact_rows(CommKind::kAllReduce, {4});
  CollectiveRow small = exact_row(CommKind::kAllReduce, 192, 4);
  small.dtype = et_schema::DType::kInt64;
  small.median_ns *= 3;
  rows.push_back(small);
  const CollectiveModels models = fit_collectives(rows);
  GroupComm call = call_of(CommKind::kAllReduce, 192, 4);
  call.dtype = et_schema::DType::kInt64;
  EXPECT_NEAR(estimate(models, call).ns / small.median_ns, 1, 1e-9);
  call.bytes = 1 << 20;
  EXPECT_NEAR(estimate(models, call).ns / exact_row(CommKind::kAllReduce, 1 << 20, 4).median_ns, 1,
              1e-6);
}

TEST(CollectiveModels, WithoutRowsThereIsNoAnswer) {
  const CollectiveModels none = fit_collectives({exact_row(CommKind::kBarrier, 0, 2)});
  EXPECT_NO_THROW((void)estimate(none, call_of(CommKind::kBarrier, 0, 2)));
  EXPECT_EQ(testing_errors::error_of([&] {
              return estimate(CollectiveModels(), call_of(CommKind::kAllReduce, 8, 2));
            }) + "\n",
            "the platform has no measured communication\n"
            "  field:    collectives\n"
            "  expected: rows of at least one kind\n"
            "  got:      none\n"
            "  hint:     measure some (calibrate under mpirun), or add the output of nccl-tests\n");
}

CollectiveModels read_back(const std::string& json) {
  const et_schema::JsonSource source{"p.json", "the platform cannot be read", "make it again"};
  const nlohmann::json document = et_schema::parse_json(json, source);
  return collectives_from_json(et_schema::JsonField(document, source));
}

TEST(CollectiveModels, ReadBackAsWritten) {
  std::vector<CollectiveRow> rows = exact_rows(CommKind::kAllReduce, {2, 4});
  for (CollectiveRow row : exact_rows(CommKind::kAllToAll, {4})) {
    row.nodes = 2;
    row.spread_ns = 7;
    rows.push_back(row);
  }
  const CollectiveModels models = fit_collectives(rows);
  const std::string json = to_json(models);
  const CollectiveModels again = read_back(json);
  EXPECT_EQ(to_json(again), json);
  EXPECT_EQ(again, models);
}

TEST(CollectiveModels, DamagedSectionsAreRefusedByField) {
  const std::string json = to_json(only_all_reduce());
  const auto message = [&](const std::string& from, const std::string& to) {
    std::string text = json;
    text.replace(text.find(from), from.size(), to);
    return testing_errors::error_of([&] { return read_back(text); }) + "\n";
  };
  EXPECT_EQ(message("\"allreduce\"", "\"all_reducer\""),
            "the platform cannot be read\n"
            "  file:     p.json\n"
            "  field:    series[0].kind\n"
            "  expected: a kind of communication\n"
            "  got:      all_reducer\n"
            "  hint:     make it again\n");
  EXPECT_EQ(message("\"ranks\":4", "\"ranks\":2"),
            "the platform cannot be read\n"
            "  file:     p.json\n"
            "  field:    series[0].curves[1].ranks\n"
            "  expected: more ranks than in the curve before\n"
            "  got:      2\n"
            "  hint:     make it again\n");
  EXPECT_EQ(message("\"spread\":[0.0,", "\"spread\":["),
            "the platform cannot be read\n"
            "  file:     p.json\n"
            "  field:    series[0].curves[0]\n"
            "  expected: lists of one length, of one size or more\n"
            "  got:      lists of other lengths\n"
            "  hint:     make it again\n");
  EXPECT_EQ(
      message("\"alpha_ns\":", "\"alpha_ns\":-"),
      "the platform cannot be read\n"
      "  file:     p.json\n"
      "  field:    series[0].alpha_ns\n"
      "  expected: a number of 0 or more\n"
      "  got:      " +
          json.substr(json.find("\"alpha_ns\":") + 11,
                      json.find(',', json.find("\"alpha_ns\":")) - json.find("\"alpha_ns\":") - 11)
              .insert(0, "-") +
          "\n"
          "  hint:     make it again\n");
}

}  // namespace
}  // namespace understudy::predictor
