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

TEST(TraceTree, ParentWithALaterIdThatIsNoCircleIsAnOrphans) {
  const Trace trace = parse(trace_of({{.id = 5, .parent = 9}, {.id = 9, .parent = 2}}));
  EXPECT_EQ(parent_id(trace, 5), 2U);
  EXPECT_EQ(trace.losses[Loss::kMissingNodes], 1U);
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
