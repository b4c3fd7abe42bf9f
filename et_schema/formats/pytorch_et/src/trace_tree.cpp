#include "et_schema/formats/pytorch_et/trace_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"

namespace understudy::et_schema {
namespace {

constexpr std::string_view kThreadRootSuffix = "|thread]";
constexpr std::string_view kRootPrefix = "[pytorch|profiler|execution_";
constexpr std::string_view kMadeUpThreadRoot = "[pytorch|profiler|execution_trace|thread]";
constexpr std::string_view kMadeUpProcessRoot = "[pytorch|profiler|execution_trace|process]";

/// Returns true for a thread's root, which has execution_graph (schema 1.0.1) or execution_trace.
bool is_thread_root(const Node& node) {
  return node.name.starts_with(kRootPrefix) && node.name.ends_with(kThreadRootSuffix);
}

[[noreturn]] void fail(std::string summary, std::uint64_t node, std::string field,
                       std::string expected, std::string got) {
  throw bad_input(std::move(summary), {.node = node,
                                       .field = std::move(field),
                                       .expected = std::move(expected),
                                       .got = std::move(got)});
}

void sort_by_id(std::vector<Node>& nodes) {
  if (nodes.size() >= kNoNode) {
    throw bad_input("too many nodes", {.field = "nodes",
                                       .expected = "fewer than 2^32 - 1 nodes",
                                       .got = fmt::format("{}", nodes.size())});
  }
  // Nodes are large, so sort small keys, then move each node once along the permutation's cycles.
  std::vector<std::pair<std::uint64_t, NodeIndex>> order;
  order.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    order.emplace_back(nodes[i].id, static_cast<NodeIndex>(i));
  }
  std::ranges::sort(order, {}, &std::pair<std::uint64_t, NodeIndex>::first);
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (order[i].first == order[i - 1].first) {
      fail("two nodes have the same id", order[i].first, "id", "each id once",
           fmt::format("{} and {}", nodes[std::min(order[i - 1].second, order[i].second)].name,
                       nodes[std::max(order[i - 1].second, order[i].second)].name));
    }
  }
  for (std::size_t start = 0; start < order.size(); ++start) {
    if (order[start].second == start) {
      continue;
    }
    const Node first = nodes[start];
    std::size_t at = start;
    for (std::size_t from = order[at].second; from != start; from = order[at].second) {
      nodes[at] = nodes[from];
      order[at].second = static_cast<NodeIndex>(at);
      at = from;
    }
    nodes[at] = first;
    order[at].second = static_cast<NodeIndex>(at);
  }
}

/// Makes nodes[0] the process root, node 1, which is its own parent. It is written last, so a
/// cut-off file lacks it.
void provide_process_root(Trace& trace) {
  const Node& first = trace.nodes.front();
  if (first.id == first.parent_id || (first.parent_id == 0 && first.id <= 1)) {
    return;
  }
  Node root;
  root.id = first.id > 1 ? 1 : 0;
  if (first.id == 0) {
    fail("a node is below id 1 and is not the root", first.id, "id", "ids of 1 or more", "0");
  }
  root.parent_id = root.id;
  root.scope = Scope::kUserScope;
  root.name = kMadeUpProcessRoot;
  trace.nodes.insert(trace.nodes.begin(), root);
}

/// Assigns the ids anew if nodes have parents with higher ids. Each node then stands before the
/// first node below it, which started no earlier, so the order of threads stays. Only a few such
/// parents are wrong ones, which an observer's race wrote; they change nothing. Refuses cycles.
NewIds put_parents_first(Trace& trace) {
  std::vector<Node>& nodes = trace.nodes;
  NewIds new_ids;
  const auto is_behind = [&trace](const Node& node) {
    return node.parent_id >= node.id && trace.find(node.parent_id) != kNoNode;
  };
  constexpr std::size_t kFewShare = 100;
  const auto behind =
      static_cast<std::size_t>(std::count_if(nodes.begin() + 1, nodes.end(), is_behind));
  if (behind == 0) {
    return new_ids;
  }
  std::vector<Node> ordered = {nodes[0]};
  std::vector<std::size_t> walk_of(nodes.size());  // by node: where the walk up to it began
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    const auto first = static_cast<std::ptrdiff_t>(ordered.size());
    auto at = static_cast<NodeIndex>(i);
    while (at != kNoNode && at != 0 && walk_of[at] == 0) {
      walk_of[at] = i;
      ordered.push_back(nodes[at]);
      at = trace.find(nodes[at].parent_id);
    }
    if (at != kNoNode && walk_of[at] == i && first < std::ssize(ordered)) {
      fail("a node is its own ancestor", nodes[at].id, "parent", "parents that lead to node 1",
           fmt::format("a circle through node {}", nodes[at].parent_id));
    }
    std::reverse(ordered.begin() + first, ordered.end());
  }
  if (behind * kFewShare < nodes.size()) {
    return new_ids;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    new_ids.emplace(ordered[i].id, nodes[i].id);
  }
  for (Node& node : ordered) {
    for (std::uint64_t Node::*id : {&Node::id, &Node::parent_id, &Node::fw_parent}) {
      const auto found = new_ids.find(node.*id);
      node.*id = found == new_ids.end() ? node.*id : found->second;
    }
  }
  nodes = std::move(ordered);
  return new_ids;
}

/// Thread id → id of the thread's root.
using ThreadRoots = std::map<std::uint64_t, std::uint64_t>;

ThreadRoots thread_roots(const Trace& trace) {
  ThreadRoots roots;
  for (const Node& node : trace.nodes) {
    if (is_thread_root(node)) {
      roots.try_emplace(node.tid, node.id);
    }
  }
  return roots;
}

/// Sets the parent of each node whose parent is in the file and before it. Returns false if a node
/// has no such parent.
bool set_known_parents(Trace& trace) {
  bool all_known = true;
  for (std::size_t i = 1; i < trace.nodes.size(); ++i) {
    Node& node = trace.nodes[i];
    const Node& before = trace.nodes[i - 1];
    if (i > 1 && node.parent_id == before.parent_id) {
      node.parent = before.parent;
    } else if (node.parent_id == before.id) {
      node.parent = static_cast<NodeIndex>(i - 1);
    } else {
      node.parent = node.parent_id < node.id ? trace.find(node.parent_id) : kNoNode;
    }
    all_known = all_known && node.parent != kNoNode;
  }
  return all_known;
}

/// A thread whose root is missing in the file.
struct LostThread {
  std::uint64_t first_id = 0;          ///< lowest id of its nodes without a parent
  std::uint64_t lowest_parent_id = 0;  ///< lowest parent id of these nodes
};

std::map<std::uint64_t, LostThread> find_lost_threads(const Trace& trace,
                                                      const ThreadRoots& roots) {
  std::map<std::uint64_t, LostThread> lost;
  for (std::size_t i = 1; i < trace.nodes.size(); ++i) {
    const Node& node = trace.nodes[i];
    if (node.parent != kNoNode || is_thread_root(node) || roots.contains(node.tid)) {
      continue;
    }
    const auto [entry, is_new] = lost.try_emplace(node.tid, LostThread{node.id, node.parent_id});
    if (!is_new) {
      entry->second.lowest_parent_id = std::min(entry->second.lowest_parent_id, node.parent_id);
    }
  }
  return lost;
}

/// Returns an id for the thread's root: the parent id of its nodes, if free and below them, else
/// the next free id below them. Returns nothing if no near id is free.
std::optional<std::uint64_t> free_root_id(const Trace& trace, const LostThread& thread,
                                          const std::set<std::uint64_t>& taken) {
  constexpr int kTries = 64;  // a limit, to keep the time linear
  const std::uint64_t process_id = trace.nodes.front().id;
  const auto is_free = [&](std::uint64_t id) {
    return id > process_id && id < thread.first_id && trace.find(id) == kNoNode &&
           !taken.contains(id);
  };
  if (is_free(thread.lowest_parent_id)) {
    return thread.lowest_parent_id;
  }
  std::uint64_t id = thread.first_id - 1;
  for (int i = 0; i < kTries && id > process_id; ++i, --id) {
    if (is_free(id)) {
      return id;
    }
  }
  return std::nullopt;
}

/// Adds a root for each thread that has nodes without a parent and no root. If no id is free, the
/// thread's nodes become children of the process root.
void provide_thread_roots(Trace& trace, ThreadRoots& roots) {
  const std::uint64_t process_id = trace.nodes.front().id;
  std::vector<Node> made_up;
  std::set<std::uint64_t> taken;
  for (const auto& [tid, thread] : find_lost_threads(trace, roots)) {
    const std::optional<std::uint64_t> id = free_root_id(trace, thread, taken);
    if (!id) {
      continue;
    }
    taken.insert(*id);
    roots.emplace(tid, *id);
    Node& root = made_up.emplace_back();
    root.id = *id;
    root.parent_id = process_id;
    root.tid = tid;
    root.scope = Scope::kUserScope;
    root.name = kMadeUpThreadRoot;
  }
  if (!made_up.empty()) {
    trace.losses.add(Loss::kMissingNodes, made_up.size());
    trace.nodes.insert(trace.nodes.end(), made_up.begin(), made_up.end());
    sort_by_id(trace.nodes);
  }
}

/// Sets the parent of nodes without one to the thread's root, and of thread roots to the process.
void hang_orphans(Trace& trace, const ThreadRoots& roots) {
  for (std::size_t i = 1; i < trace.nodes.size(); ++i) {
    Node& node = trace.nodes[i];
    if (node.parent != kNoNode) {
      continue;
    }
    node.parent = 0;
    if (is_thread_root(node)) {
      continue;
    }
    trace.losses.add(Loss::kMissingNodes);
    // The root may have a higher id than the thread's first nodes.
    const auto root = roots.find(node.tid);
    if (root != roots.end() && root->second < node.id) {
      node.parent = trace.find(root->second);
    }
  }
}

void set_subtrees(Trace& trace, Arena& arena) {
  std::vector<Node>& nodes = trace.nodes;
  std::vector<std::uint32_t> counts(nodes.size(), 0);
  for (std::size_t i = nodes.size(); i-- > 1;) {
    Node& parent = nodes[nodes[i].parent];
    if (nodes[i].last_descendant == kNoNode) {
      nodes[i].last_descendant = static_cast<NodeIndex>(i);
    }
    if (parent.last_descendant == kNoNode || parent.last_descendant < nodes[i].last_descendant) {
      parent.last_descendant = nodes[i].last_descendant;
    }
    ++counts[nodes[i].parent];
  }
  if (nodes[0].last_descendant == kNoNode) {
    nodes[0].last_descendant = 0;
  }
  const std::span<NodeIndex> all = arena.array<NodeIndex>(nodes.size() - 1);
  std::size_t offset = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].children = all.subspan(offset, counts[i]);
    offset += counts[i];
    counts[i] = 0;
  }
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    const NodeIndex parent = nodes[i].parent;
    const auto begin = static_cast<std::size_t>(nodes[parent].children.data() - all.data());
    all[begin + counts[parent]++] = static_cast<NodeIndex>(i);
  }
}

}  // namespace

NodeIndex thread_root(const Trace& trace, std::uint64_t tid) {
  for (const NodeIndex child : trace.nodes.front().children) {
    if (trace.nodes[child].tid == tid && is_thread_root(trace.nodes[child])) {
      return child;
    }
  }
  return kNoNode;
}

void set_parents(Trace& trace, std::span<const NodeIndex> parents) {
  UNDERSTUDY_ASSERT(parents.size() == trace.nodes.size());
  for (std::size_t i = 0; i < parents.size(); ++i) {
    Node& node = trace.nodes[i];
    node.last_descendant = kNoNode;
    if (parents[i] != kNoNode) {
      UNDERSTUDY_ASSERT(parents[i] < i);
      node.parent = parents[i];
      node.parent_id = trace.nodes[parents[i]].id;
    }
  }
  Arena arena(*trace.arena);
  set_subtrees(trace, arena);
}

NewIds link_nodes(Trace& trace, Arena& arena) {
  UNDERSTUDY_ASSERT(!trace.nodes.empty());
  sort_by_id(trace.nodes);
  provide_process_root(trace);
  NewIds new_ids = put_parents_first(trace);
  if (!set_known_parents(trace)) {
    ThreadRoots roots = thread_roots(trace);
    provide_thread_roots(trace, roots);
    set_known_parents(trace);
    hang_orphans(trace, roots);
  }
  set_subtrees(trace, arena);
  return new_ids;
}

}  // namespace understudy::et_schema
