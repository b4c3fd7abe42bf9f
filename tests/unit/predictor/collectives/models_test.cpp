#include "predictor/collectives/models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/base/json_fields.h"
#include "et_schema/model/comm_traits.h"
#include "predictor/collectives/fabrics.h"
#include "synthetic_rows.h"
#include "testing/error_text.h"

namespace understudy::predictor {
namespace {

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
    const et_schema::CommPattern pattern = et_schema::traits(kind).pattern;
    const bool is_alike =
        pattern < et_schema::CommPattern::kExchange || pattern == et_schema::CommPattern::kNothing;
    if (is_alike && (ranks == 2 || ranks == 4 || ranks == 8)) {
      const std::int64_t size = kind == CommKind::kBarrier ? 0 : 1 << 20;
      EXPECT_NEAR(answer.ns / exact_row(kind, size, ranks).median_ns, 1, is_own ? 1e-6 : 0.06)
          << et_schema::to_string(kind);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, EachKind, testing::Values(1, 2, 3, 4, 8));

TEST(CollectiveModels, SplitsTakeWhatTheBusiestLinkTakes) {
  const CollectiveModels models = fit_collectives(exact_rows(CommKind::kAllToAll, {2, 4}));
  GroupComm call = call_of(CommKind::kAllToAllV, 1 << 20, 2);
  call.sent_bytes = {500, 3 << 20, 1 << 20, 7};
  const Estimate answer = estimate(models, call);
  EXPECT_TRUE(answer.modelled);
  EXPECT_NEAR(answer.ns, exact_row(CommKind::kAllToAll, 6 << 20, 2).median_ns, 1e-2);
}

/// All-gathers on `nodes` nodes of four ranks: 50 us a step between nodes, 1 GB/s.
std::vector<CollectiveRow> rows_of_nodes(const std::vector<int>& nodes) {
  std::vector<CollectiveRow> rows;
  for (const int n : nodes) {
    for (CollectiveRow& row : exact_rows(CommKind::kAllGatherBase, {4 * n})) {
      row.nodes = n;
      row.median_ns = 5e4 * n + static_cast<double>(row.bytes);
      rows.push_back(row);
    }
  }
  return rows;
}

TEST(CollectiveModels, NodesAreInterpolatedAndGoOnGrowing) {
  std::vector<CollectiveRow> rows = exact_rows(CommKind::kAllGatherBase, {2, 4});
  std::ranges::copy(rows_of_nodes({2, 8}), std::back_inserter(rows));
  const CollectiveModels models = fit_collectives(rows);
  ASSERT_EQ(models.series.size(), 2U) << "one node, and four ranks a node";
  for (const int nodes : {2, 4, 8, 64, 512}) {
    for (const std::int64_t bytes : {1L << 10, 1L << 20, 1L << 26}) {
      const Estimate answer =
          estimate(models, call_of(CommKind::kAllGatherBase, bytes, 4 * nodes, nodes));
      EXPECT_NEAR(answer.ns / (5e4 * nodes + static_cast<double>(bytes)), 1, 0.1)
          << nodes << " " << bytes;
      EXPECT_TRUE(answer.modelled);
      EXPECT_EQ(answer.extrapolated, nodes > 8);
      EXPECT_EQ(answer.model, "alpha_beta+residual");
    }
  }
}

TEST(CollectiveModels, OtherRanksANodeTakeWhatAsManyNodesTake) {
  const CollectiveModels models = fit_collectives(rows_of_nodes({2, 4}));
  const Estimate same = estimate(models, call_of(CommKind::kAllGatherBase, 1 << 20, 16, 4));
  const Estimate other = estimate(models, call_of(CommKind::kAllGatherBase, 1 << 20, 32, 4));
  EXPECT_DOUBLE_EQ(other.ns, same.ns);
  EXPECT_GT(other.high_ns, 1.5 * same.high_ns);
  EXPECT_TRUE(other.extrapolated);
}

TEST(CollectiveModels, SeveralNodesAreABoundForOne) {
  const Estimate answer =
      estimate(fit_collectives(rows_of_nodes({2})), call_of(CommKind::kAllGatherBase, 1 << 20, 8));
  EXPECT_EQ(answer.model, "several nodes: alpha_beta+residual");
  EXPECT_EQ(answer.high_ns, answer.ns);
  EXPECT_LT(answer.low_ns, answer.ns / 9);
  EXPECT_FALSE(answer.modelled);
}

TEST(CollectiveModels, APublishedNetworkIsAsFastAsItsAdaptersAndItsNodes) {
  const auto ns_of = [](CollectiveModels models, CommKind kind, int ranks, int nodes) {
    add_fabric(*find_fabric("EFA400"), "", models);
    const Estimate time = estimate(models, call_of(kind, 1 << 28, ranks, nodes), {"", "EFA400"});
    EXPECT_TRUE(time.modelled && time.low_ns < time.ns && time.high_ns < 2 * time.ns);
    return time.ns;
  };
  const double message_ns = 1e9 * (1 << 28) / (0.85 * find_fabric("EFA400")->bytes_per_s);
  const double ring_ns = message_ns * 15 / 8;
  EXPECT_NEAR(ns_of({}, CommKind::kSend, 2, 2) / message_ns, 1, 0.01);
  EXPECT_NEAR(ns_of({}, CommKind::kAllReduce, 16, 2) / (ring_ns / 8), 1, 0.02);
  EXPECT_NEAR(ns_of({}, CommKind::kAllReduce, 16, 16) / ring_ns, 1, 0.02) << "a rank a node";
  const CollectiveModels slow = only_all_reduce();  // links within a node
  const double on_node_ns = estimate(slow, call_of(CommKind::kAllReduce, 1 << 28, 8)).ns;
  EXPECT_NEAR(ns_of(slow, CommKind::kAllReduce, 16, 2) / on_node_ns, 15 / 14.0, 0.02);
  EXPECT_EQ(find_fabric("NDR"), nullptr);
}

TEST(CollectiveModels, AnotherCardsTableIsMarkedAndWider) {
  std::vector<CollectiveRow> rows = exact_rows(CommKind::kAllReduce, {2, 4});
  for (CollectiveRow& row : rows) {
    row.device = "NVIDIA H100 80GB HBM3";
  }
  const CollectiveModels models = fit_collectives(rows);
  const GroupComm call = call_of(CommKind::kAllReduce, 1 << 20, 4);
  const Estimate own = estimate(models, call, {"NVIDIA H100 80GB HBM3", ""});
  EXPECT_EQ(own.model, "alpha_beta+residual");
  EXPECT_TRUE(own.modelled);
  EXPECT_EQ(estimate(models, call), own) << "an unknown card differs from none";
  const Estimate other = estimate(models, call, {"NVIDIA B200", ""});
  EXPECT_EQ(other.model, "another card, NVIDIA H100 80GB HBM3: alpha_beta+residual");
  EXPECT_EQ(other.ns, own.ns);
  EXPECT_GT(other.high_ns, 2.7 * own.ns);
  EXPECT_FALSE(other.modelled);
  EXPECT_TRUE(other.extrapolated);
  // With a table of its own, a card uses that.
  for (CollectiveRow row : exact_rows(CommKind::kAllReduce, {2, 4})) {
    row.device = "NVIDIA B200";
    row.median_ns *= 2;
    rows.push_back(row);
  }
  const Estimate found = estimate(fit_collectives(rows), call, {"NVIDIA B200", ""});
  EXPECT_NEAR(found.ns / own.ns, 2, 1e-9);
  EXPECT_TRUE(found.modelled);
}

TEST(CollectiveModels, ASourceNamesTheModelOfItsCard) {
  std::vector<CollectiveRow> rows = exact_rows(CommKind::kAllReduce, {2, 4});
  for (CollectiveRow& row : rows) {
    row.source = "a100_sxm NCCL 2.27.3";
  }
  EXPECT_EQ(card_of(rows[0]), "A100");
  const CollectiveModels models = fit_collectives(rows);
  const GroupComm call = call_of(CommKind::kAllReduce, 1 << 20, 4);
  EXPECT_TRUE(estimate(models, call, {"NVIDIA A100-SXM4-80GB", ""}).modelled);
  EXPECT_EQ(estimate(models, call, {"NVIDIA H200", ""}).model,
            "another card, A100: alpha_beta+residual");
  rows[0].source = "made up";
  EXPECT_EQ(card_of(rows[0]), "");
}

TEST(CollectiveModels, AnotherNetworkCountsBetweenNodes) {
  std::vector<CollectiveRow> rows = rows_of_nodes({2, 4});
  for (CollectiveRow& row : rows) {
    row.network = "IB";
  }
  const CollectiveModels models = fit_collectives(rows);
  const GroupComm call = call_of(CommKind::kAllGatherBase, 1 << 20, 16, 4);
  EXPECT_TRUE(estimate(models, call, {"", "IB"}).modelled);
  const Estimate other = estimate(models, call, {"", "Socket"});
  EXPECT_EQ(other.model, "another network, IB: alpha_beta+residual");
  EXPECT_FALSE(other.modelled);
  EXPECT_GT(other.high_ns, 9 * other.ns);
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

TEST(CollectiveModels, LinksThatANodeSharesAreNotThoseOfAllNodes) {
  std::vector<CollectiveRow> rows = exact_rows(CommKind::kAllReduce, {2, 4, 8});
  for (CollectiveRow& row : rows) {  // as on PCIe: twice the ranks halve what each link reaches
    row.median_ns *= row.ranks;
  }
  const CollectiveModels models = fit_collectives(rows);
  const auto ns_of = [&](int ranks, int nodes) {
    return estimate(models, call_of(CommKind::kAllReduce, 1 << 28, ranks, nodes)).ns;
  };
  const double ring = (2 * 63.0 / 64) / (2 * 7.0 / 8);
  EXPECT_NEAR(ns_of(64, 8) / ns_of(8, 1), ring, 0.02 * ring);
  EXPECT_NEAR(ns_of(64, 32) / ns_of(2, 1), 2 * 63.0 / 64, 0.05);
  EXPECT_GT(ns_of(16, 1) / ns_of(8, 1), 1.9) << "within a node their growth goes on";
}

TEST(CollectiveModels, HostsAreNotGpus) {
  GroupComm call = call_of(CommKind::kAllReduce, 1 << 20, 4);
  call.on_device = false;
  const Estimate answer = estimate(only_all_reduce(), call);
  EXPECT_FALSE(answer.modelled);
  EXPECT_GT(answer.high_ns / answer.ns, 1.9);
}

TEST(CollectiveModels, AnotherElementTypeWidens) {
  GroupComm call = call_of(CommKind::kAllReduce, 1 << 20, 4);
  call.dtype = et_schema::DType::kBFloat16;
  const Estimate answer = estimate(only_all_reduce(), call);
  EXPECT_GT(answer.high_ns / answer.ns, 1.2);
  EXPECT_TRUE(answer.modelled);
}

/// A profile often tells one size of a kind, and a small one.
TEST(CollectiveModels, FarFromItsOwnSizesAKindTakesWhatALikeOneTakes) {
  std::vector<CollectiveRow> rows = exact_rows(CommKind::kAllGatherBase, {4});
  rows.push_back(exact_row(CommKind::kAllGather, 192, 4));
  const CollectiveModels models = fit_collectives(rows);
  const Estimate large = estimate(models, call_of(CommKind::kAllGather, 1 << 28, 4));
  EXPECT_NEAR(large.ns / exact_row(CommKind::kAllGather, 1 << 28, 4).median_ns, 1, 1e-6);
  EXPECT_EQ(large.model, "as _allgather_base: alpha_beta+residual");
  EXPECT_FALSE(large.modelled);
  EXPECT_TRUE(estimate(models, call_of(CommKind::kAllGather, 192, 4)).modelled);
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

TEST(CollectiveModels, WithoutRowsThereIsNoModel) {
  const CollectiveModels none = fit_collectives({exact_row(CommKind::kBarrier, 0, 2)});
  EXPECT_GT(estimate(none, call_of(CommKind::kBarrier, 0, 2)).ns, 0);
  EXPECT_FALSE(estimate(none, call_of(CommKind::kAllReduce, 1 << 20, 2)).modelled);
  const GroupComm call = call_of(CommKind::kAllReduce, 8, 2);
  EXPECT_EQ(estimate(CollectiveModels(), call), assumed_communication(call));
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
    row.device = "A100";
    row.network = "IB";
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
    return error_of([&] { return read_back(text); }) + "\n";
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
  EXPECT_EQ(message("\"ranks_per_node\":0", "\"ranks_per_node\":-1"),
            "the platform cannot be read\n"
            "  file:     p.json\n"
            "  field:    series[0].ranks_per_node\n"
            "  expected: 0 or more\n"
            "  got:      -1\n"
            "  hint:     make it again\n");
}

}  // namespace
}  // namespace understudy::predictor
