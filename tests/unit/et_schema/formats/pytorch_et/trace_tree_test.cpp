#include <fmt/format.h>
#include <gtest/gtest.h>

#include "reader_texts.h"

namespace understudy::et_schema {
namespace {

using namespace testing_texts;  // NOLINT(google-build-using-namespace)

std::vector<std::uint64_t> child_ids(const Trace& trace, std::uint64_t id) {
  std::vector<std::uint64_t> ids;
  for (const NodeIndex child : trace.nodes[trace.find(id)].children) {
    ids.push_back(trace.nodes[child].id);
  }
  return ids;
}

std::uint64_t parent_id(const Trace& trace, std::uint64_t id) {
  return trace.nodes[trace.nodes[trace.find(id)].parent].id;
}

TEST(TraceTree, FileOrderDoesNotMatter) {
  const Trace trace =
      parse(testing_texts::trace({node({.id = 5, .parent = 4}), node({.id = 4, .parent = 2}),
                                  node({.id = 7, .parent = 2}), roots()[0], roots()[1]}));
  ASSERT_EQ(trace.nodes.size(), 5U);
  EXPECT_EQ(trace.nodes[0].parent, kNoNode);
  EXPECT_EQ(child_ids(trace, 2), (std::vector<std::uint64_t>{4, 7}));
  EXPECT_EQ(child_ids(trace, 4), (std::vector<std::uint64_t>{5}));
  EXPECT_TRUE(child_ids(trace, 5).empty());
  EXPECT_EQ(trace.nodes[0].last_descendant, 4U);
  EXPECT_EQ(trace.nodes[trace.find(4)].last_descendant, trace.find(5));
  EXPECT_EQ(trace.nodes[trace.find(7)].last_descendant, trace.find(7));
}

TEST(TraceTree, OrphanHangsFromItsThreadsRoot) {
  const Trace trace = parse(trace_of({.id = 9, .parent = 6}));
  EXPECT_EQ(parent_id(trace, 9), 2U);
  EXPECT_EQ(trace.losses[Loss::kMissingNodes], 1U);
}

TEST(TraceTree, ThreadRootThatTheFileLacksIsMadeUpUnderItsOwnId) {
  const Trace trace =
      parse(trace_of({{.id = 9, .parent = 8, .tid = 2}, {.id = 12, .parent = 8, .tid = 2}}));
  ASSERT_EQ(trace.nodes.size(), 5U);
  EXPECT_EQ(trace.nodes[trace.find(8)].name, "[pytorch|profiler|execution_trace|thread]");
  EXPECT_EQ(trace.nodes[trace.find(8)].tid, 2U);
  EXPECT_EQ(parent_id(trace, 8), 1U);
  EXPECT_EQ(child_ids(trace, 8), (std::vector<std::uint64_t>{9, 12}));
  EXPECT_EQ(trace.losses[Loss::kMissingNodes], 1U);
}

TEST(TraceTree, MadeUpRootTakesAFreeIdWhereTheNamedOneIsTaken) {
  // Node 20 names parent 30, which is no node; 19 is taken, 18 is free.
  const Trace trace =
      parse(trace_of({{.id = 19, .parent = 2}, {.id = 20, .parent = 30, .tid = 2}}));
  EXPECT_EQ(parent_id(trace, 20), 18U);
  EXPECT_EQ(trace.losses[Loss::kMissingNodes], 2U) << "the root and the named parent";
}

TEST(TraceTree, ThreadWithoutAFreeIdHangsFromTheProcess) {
  const Trace trace = parse(trace_of({.id = 3, .parent = 77, .tid = 2}));
  EXPECT_EQ(parent_id(trace, 3), 1U);
  EXPECT_EQ(trace.losses[Loss::kMissingNodes], 1U);
}

TEST(TraceTree, ProcessRootThatTheFileLacksIsMadeUp) {
  const Trace trace = parse(testing_texts::trace({roots()[0], node({.id = 5, .parent = 2})}));
  ASSERT_EQ(trace.nodes.size(), 3U);
  EXPECT_EQ(trace.nodes[0].id, 1U);
  EXPECT_EQ(trace.nodes[0].name, "[pytorch|profiler|execution_trace|process]");
  EXPECT_EQ(parent_id(trace, 2), 1U);
  EXPECT_TRUE(trace.losses.nonzero().empty());
}

TEST(TraceTree, NodesNumberedAsTheyEndAreNumberedAnewInOrderOfStart) {
  const Trace trace = parse(trace_of({{.id = 5, .parent = 9, .name = "leaf"},
                                      {.id = 7, .parent = 2, .name = "of another", .tid = 2},
                                      {.id = 9, .parent = 11, .name = "middle"},
                                      {.id = 11, .parent = 2, .name = "whole"}}));
  std::vector<std::string_view> names;
  for (const Node& node : trace.nodes) {
    names.push_back(node.name);
  }
  EXPECT_EQ(std::vector(names.begin() + 2, names.end()),
            (std::vector<std::string_view>{"whole", "middle", "leaf", "of another"}));
  EXPECT_EQ(child_ids(trace, 5), std::vector<std::uint64_t>{7});
  EXPECT_EQ(child_ids(trace, 7), std::vector<std::uint64_t>{9});
  EXPECT_TRUE(trace.losses.nonzero().empty());
}

TEST(TraceTree, DeviceEventsOfAMergeAreTimesOfTheirParents) {
  const auto event = [](int id, int parent, const char* more) {
    return fmt::format(R"({{"id": {}, "name": "n{}", "ctrl_deps": {}, "inputs": {{}}, {}}})", id,
                       id, parent, more);
  };
  const Trace trace = parse(testing_texts::trace(
      {roots()[0], roots()[1], event(5, 9, R"("ts": 1000.5, "dur": 20)"),
       event(6, 5, R"("cat": "kernel", "ts": 1030, "dur": 100.25, "tid": 7)"),
       event(7, 5, R"("cat": "gpu_memset", "ts": 1200, "dur": 2, "stream": 9)"),
       event(8, 77, R"("cat": "Kernel", "dur": 1)"), event(9, 2, R"("ts": 1000, "dur": 50)"),
       event(10, 2, R"("ts": 1060, "inclusive_dur": 9, "cat": "cpu_op")")}));
  ASSERT_EQ(trace.nodes.size(), 5U);
  EXPECT_EQ(trace.losses[Loss::kMissingNodes], 1U) << "the parent of a kernel";
  const OwnTimes& whole = trace.own_times[trace.find(5)].value();
  EXPECT_EQ(whole.start_ns, 1'000'000);
  EXPECT_EQ(whole.self_ns, 30'000);
  EXPECT_EQ(whole.launches, 0U);
  const OwnTimes& below = trace.own_times[trace.find(9)].value();
  EXPECT_EQ(below.self_ns, 20'000);
  EXPECT_EQ(below.device_ns, 102'250);
  EXPECT_EQ(below.launches, 2U);
  EXPECT_EQ(below.stream, 7);
  EXPECT_EQ(trace.own_times[trace.find(10)].value().self_ns, 9'000);
}

TEST(TraceTree, ThreadsOfAnyNumberAreLinkedInLinearTime) {
  std::vector<std::string> nodes = {roots()[1]};
  constexpr int kNodes = 30000;
  for (int i = 0; i < kNodes; ++i) {
    nodes.push_back(node({.id = 2 + i, .parent = 1000000 + i, .tid = i}));
  }
  const Trace trace = parse(testing_texts::trace(nodes));
  EXPECT_EQ(trace.losses[Loss::kMissingNodes], static_cast<std::uint64_t>(kNodes));
}

}  // namespace
}  // namespace understudy::et_schema
