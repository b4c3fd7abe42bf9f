// What simulators ask of Chakra files: each rule is broken once, with what is said of it.

#include "et_schema/formats/chakra/check.h"

#include <gtest/gtest.h>

#include <map>

#include "chakra_texts.h"
#include "et_schema/formats/pytorch_et/chakra_trace.h"

namespace understudy::et_schema {
namespace {

using namespace testing_chakra;  // NOLINT(google-build-using-namespace)

using Lines = std::vector<std::string>;

/// The files of ranks 0, 1, … as the checker sees them: "rule: rank R node N text".
Lines check(const std::vector<std::vector<NodeText>>& ranks) {
  std::vector<ChakraFile> files;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::vector<std::string> messages;
    for (const NodeText& text : ranks[rank]) {
      messages.push_back(node(text));
    }
    files.push_back(parse_chakra(file(messages), "c.et"));
    files.back().rank = static_cast<int>(rank);
  }
  const ChakraCheck found = check_chakra(files);
  Lines lines;
  for (const ChakraViolation& violation : found.violations) {
    lines.push_back(
        std::string(info(violation.rule).name) + ": rank " + std::to_string(violation.rank) +
        (violation.node ? " node " + std::to_string(*violation.node) : "") + " " + violation.text);
  }
  return lines;
}

NodeText cpu(std::uint64_t id, std::vector<std::uint64_t> data_deps = {},
             std::vector<std::uint64_t> ctrl_deps = {}) {
  NodeText text{.id = id, .ctrl_deps = std::move(ctrl_deps), .data_deps = std::move(data_deps)};
  text.attributes = {boolean("is_cpu_op", true)};
  return text;
}

NodeText message(std::uint64_t id, bool is_send, std::int32_t source, std::int32_t destination,
                 std::int32_t tag, std::int64_t bytes) {
  NodeText text{.id = id, .name = is_send ? "send" : "recv", .type = is_send ? 5U : 6U};
  text.attributes = {boolean("is_cpu_op", false), int32("comm_src", source),
                     int32("comm_dst", destination), int32("comm_tag", tag),
                     int64("comm_size", bytes)};
  return text;
}

NodeText in_group(NodeText node, std::string_view group) {
  node.attributes.push_back(text("pg_name", group));
  return node;
}

NodeText groups(const std::string& json) {
  NodeText text = cpu(1);
  text.type = 1;
  text.inputs = {"['" + json + "']", "[[]]", "['String']"};
  return text;
}

TEST(ChakraCheck, AFileThatIsRight) {
  const NodeText list = groups(R"([{"pg_name": "1", "ranks": [1, 0]}])");
  EXPECT_EQ(check({{list, cpu(2, {3}), cpu(3, {1}), in_group(collective(4, 0, 8), "1"),
                    message(5, true, 0, 1, 7, 16)},
                   {list, in_group(collective(9, 0, 8), "1"), message(10, false, 0, 1, 7, 16)}}),
            Lines{});
}

TEST(ChakraCheck, Edges) {
  EXPECT_EQ(check({{cpu(2), cpu(2)}}),
            Lines{"duplicate_id: rank 0 node 2 node has the id of the node at byte 8"});
  EXPECT_EQ(check({{cpu(2, {9}, {8})}}),
            (Lines{"missing_parent: rank 0 node 2 node has a data dependency on node 9, which is "
                   "not there",
                   "missing_parent: rank 0 node 2 node has a control dependency on node 8, which "
                   "is not there"}));
  EXPECT_EQ(check({{cpu(2, {2})}}),
            Lines{"self_dependency: rank 0 node 2 node needs itself by a data dependency"});
  // The circle leads through both kinds of dependency, and node 5 waits behind it.
  EXPECT_EQ(check({{cpu(1), cpu(2, {1, 4}), cpu(3, {}, {2}), cpu(4, {3}), cpu(5, {4})}}),
            Lines{"cycle: rank 0 node 2 node needs itself through node 4: a circle of 3 nodes, and "
                  "4 are never released"});
}

TEST(ChakraCheck, TypesAndAttributes) {
  NodeText bare{.id = 2};
  EXPECT_EQ(check({{bare}}), Lines{"missing_attribute: rank 0 node 2 node has no is_cpu_op"});
  NodeText invalid = cpu(2);
  invalid.type = 0;
  NodeText unknown = cpu(3);
  unknown.type = 9;
  EXPECT_EQ(check({{invalid, unknown}}), (Lines{"node_type: rank 0 node 2 node has type 0",
                                                "node_type: rank 0 node 3 node has type 9"}));
  NodeText arm{.id = 2};
  arm.attributes = {int32("is_cpu_op", 1)};
  EXPECT_EQ(check({{arm}}), Lines{"attribute_arm: rank 0 node 2 node has is_cpu_op as int32_val, "
                                  "feeders read bool_val"});
}

TEST(ChakraCheck, CommunicationOfOneRank) {
  NodeText on_cpu = collective(2, 0, 8);
  on_cpu.attributes[0] = boolean("is_cpu_op", true);
  EXPECT_EQ(check({{on_cpu}}),
            Lines{"comm_on_cpu: rank 0 node 2 collective is a COMM_COLL_NODE with is_cpu_op true"});
  NodeText bare{.id = 2, .type = 7};
  bare.attributes = {boolean("is_cpu_op", false)};
  EXPECT_EQ(check({{bare}}),
            (Lines{"missing_attribute: rank 0 node 2 node is a COMM_COLL_NODE without comm_type",
                   "missing_attribute: rank 0 node 2 node is a COMM_COLL_NODE without comm_size"}));
  EXPECT_EQ(check({{collective(2, 10, -8)}}),
            (Lines{"attribute_value: rank 0 node 2 collective has comm_size -8, expected 0 to "
                   "4611686018427387904",
                   "attribute_value: rank 0 node 2 collective has comm_type 10, expected 0 to 9"}));
  EXPECT_EQ(check({{message(2, true, 1, 0, 0, 8)}, {}}),
            Lines{"wrong_end: rank 0 node 2 send goes from rank 1 to rank 0, in the file of rank "
                  "0"});
}

TEST(ChakraCheck, Groups) {
  const NodeText list = groups(R"([{"pg_name": "1", "ranks": [1]}])");
  EXPECT_EQ(
      check({{in_group(collective(2, 0, 8), "tp")}}),
      Lines{"unknown_group: rank 0 node 2 collective has pg_name \"tp\", which is no integer"});
  EXPECT_EQ(check({{list, in_group(collective(2, 0, 8), "3")}}),
            Lines{"unknown_group: rank 0 node 2 collective has pg_name \"3\", which no METADATA "
                  "node lists"});
  EXPECT_EQ(check({{list, in_group(collective(2, 0, 8), "1")}, {list}}),
            Lines{"rank_outside_group: rank 0 node 2 collective is of group 1, whose ranks are 1"});
  EXPECT_EQ(check({{groups("[{]")}}),
            Lines{"unknown_group: rank 0 node 1 node lists process groups that are no JSON"});
  EXPECT_EQ(check({{groups(R"([{"pg_name": "tp", "ranks": []}])")}}),
            Lines{"unknown_group: rank 0 node 1 node lists a process group whose pg_name is no "
                  "integer, or that has no ranks"});
}

TEST(ChakraCheck, CollectivesOfAllRanks) {
  EXPECT_EQ(check({{collective(2, 0, 8), collective(3, 2, 8)},
                   {collective(2, 2, 8), collective(3, 0, 8)}}),
            (Lines{"unmatched_collective: rank 1 node 2 collective is ALL_GATHER of 8 bytes, "
                   "collective 0 of group 0, where rank 0 has ALL_REDUCE of 8 bytes (node 2)",
                   "unmatched_collective: rank 1 node 3 collective is ALL_REDUCE of 8 bytes, "
                   "collective 1 of group 0, where rank 0 has ALL_GATHER of 8 bytes (node 3)"}));
  EXPECT_EQ(check({{collective(2, 0, 8)}, {collective(2, 0, 16)}}),
            Lines{"unmatched_collective: rank 1 node 2 collective is ALL_REDUCE of 16 bytes, "
                  "collective 0 of group 0, where rank 0 has ALL_REDUCE of 8 bytes (node 2)"});
  EXPECT_EQ(check({{collective(2, 0, 8)}, {collective(2, 0, 8)}, {}}),
            Lines{"unmatched_collective: rank 2 0 collectives of group 0, where rank 0 has 1"});
  // Order is that of ids, not of the file; an all-to-all may be uneven.
  EXPECT_EQ(check({{collective(2, 0, 8), collective(3, 6, 8)},
                   {collective(7, 6, 4), collective(6, 0, 8)}}),
            Lines{});
  // Nothing is known of a group with a member that is not given.
  const NodeText list = groups(R"([{"pg_name": "1", "ranks": [0, 5]}])");
  EXPECT_EQ(check({{list, in_group(collective(2, 0, 8), "1")}}), Lines{});
}

TEST(ChakraCheck, Messages) {
  EXPECT_EQ(check({{message(2, true, 0, 1, 7, 8)}, {message(2, false, 0, 1, 8, 8)}}),
            (Lines{"unmatched_message: rank 0 node 2 send from rank 0 to rank 1 with tag 7 has no "
                   "other end",
                   "unmatched_message: rank 1 node 2 recv from rank 0 to rank 1 with tag 8 has no "
                   "other end"}));
  EXPECT_EQ(check({{message(2, true, 0, 1, 7, 8)}, {message(2, false, 0, 1, 7, 4)}}),
            Lines{"unmatched_message: rank 1 node 2 recv takes 4 bytes from rank 0 with tag 7, "
                  "which sends 8"});
}

TEST(ChakraCheck, RulesHaveNamesOfTheirOwn) {
  std::map<std::string_view, int> names;
  for (std::size_t i = 0; i < kChakraRules; ++i) {
    ++names[info(static_cast<ChakraRule>(i)).name];
  }
  EXPECT_EQ(names.size(), kChakraRules);
}

TEST(ChakraCheck, ThePublishedSampleBreaksFiveRules) {
  const std::vector<ChakraFile> files =
      read_chakra_files({std::string(UNDERSTUDY_CHAKRA_DATA) + "/chakra.0.et.gz"});
  const ChakraCheck found = check_chakra(files);
  EXPECT_EQ(found.broken, (std::map<ChakraRule, std::uint64_t>{{ChakraRule::kMissingParent, 1277},
                                                               {ChakraRule::kSelfDependency, 383},
                                                               {ChakraRule::kCycle, 1},
                                                               {ChakraRule::kMissingAttribute, 28},
                                                               {ChakraRule::kCommOnCpu, 14}}));
  EXPECT_EQ(found.ranks[0].data_edges, 181878U);
  EXPECT_EQ(found.ranks[0].ctrl_edges, 3664U);
}

}  // namespace
}  // namespace understudy::et_schema
