#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "check_parts.h"

namespace understudy::et_schema {
namespace {

using Index = std::uint32_t;

class EdgeCheck {
 public:
  EdgeCheck(const ChakraFile& file, ChakraCounts& counts, ChakraFindings& findings)
      : file_(file), counts_(counts), findings_(findings), children_(file.nodes.size()) {}

  void check() {
    index_ids();
    waiting_.assign(file_.nodes.size(), 0);
    for (std::size_t i = 0; i < file_.nodes.size(); ++i) {
      const ChakraNode& node = file_.nodes[i];
      counts_.data_edges += node.data_deps.size();
      counts_.ctrl_edges += node.ctrl_deps.size();
      add_edges(static_cast<Index>(i), node.data_deps, "data");
      add_edges(static_cast<Index>(i), node.ctrl_deps, "control");
    }
    find_cycles();
  }

 private:
  void index_ids() {
    for (std::size_t i = 0; i < file_.nodes.size(); ++i) {
      by_id_.emplace_back(file_.nodes[i].id, static_cast<Index>(i));
    }
    std::ranges::sort(by_id_);
    for (std::size_t i = 1; i < by_id_.size(); ++i) {
      if (by_id_[i].first == by_id_[i - 1].first) {
        findings_.add(ChakraRule::kDuplicateId, file_, file_.nodes[by_id_[i].second],
                      fmt::format("has the id of the node at byte {}",
                                  file_.nodes[by_id_[i - 1].second].offset));
      }
    }
  }

  void add_edges(Index child, std::span<const std::uint64_t> parents, const char* kind) {
    const ChakraNode& node = file_.nodes[child];
    for (const std::uint64_t parent : parents) {
      const auto found =
          std::ranges::lower_bound(by_id_, parent, {}, &std::pair<std::uint64_t, Index>::first);
      if (parent == node.id) {
        findings_.add(ChakraRule::kSelfDependency, file_, node,
                      fmt::format("needs itself by a {} dependency", kind));
      } else if (found == by_id_.end() || found->first != parent) {
        findings_.add(
            ChakraRule::kMissingParent, file_, node,
            fmt::format("has a {} dependency on node {}, which is not there", kind, parent));
      } else {
        counts_.later_edges += parent > node.id ? 1U : 0U;
        children_[found->second].push_back(child);
        ++waiting_[child];
      }
    }
  }

  /// Issues nodes as a feeder does. The remaining nodes are in a cycle or depend on one.
  void find_cycles() {
    std::vector<Index> ready;
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      if (waiting_[i] == 0) {
        ready.push_back(static_cast<Index>(i));
      }
    }
    std::size_t released = 0;
    while (!ready.empty()) {
      const Index node = ready.back();
      ready.pop_back();
      ++released;
      for (const Index child : children_[node]) {
        if (--waiting_[child] == 0) {
          ready.push_back(child);
        }
      }
    }
    if (released < file_.nodes.size()) {
      report_cycle(file_.nodes.size() - released);
    }
  }

  /// From any waiting node, following waiting parents leads into a cycle.
  void report_cycle(std::size_t stuck) {
    std::vector<Index> waits_for(file_.nodes.size(), kNone);
    for (Index parent = 0; parent < children_.size(); ++parent) {
      for (const Index child : children_[parent]) {
        if (waiting_[parent] > 0 && waiting_[child] > 0) {
          waits_for[child] = parent;
        }
      }
    }
    std::vector<bool> seen(file_.nodes.size());
    auto node = static_cast<Index>(
        std::ranges::find_if(waiting_, [](std::uint64_t count) { return count > 0; }) -
        waiting_.begin());
    while (!seen[node]) {
      seen[node] = true;
      node = waits_for[node];
    }
    std::size_t length = 1;
    for (Index other = waits_for[node]; other != node; other = waits_for[other]) {
      ++length;
    }
    findings_.add(
        ChakraRule::kCycle, file_, file_.nodes[node],
        fmt::format("needs itself through node {}: a circle of {} nodes, and {} are never "
                    "released",
                    file_.nodes[waits_for[node]].id, length, stuck));
  }

  static constexpr Index kNone = 0xffffffffU;
  const ChakraFile& file_;
  ChakraCounts& counts_;
  ChakraFindings& findings_;
  std::vector<std::pair<std::uint64_t, Index>> by_id_;
  std::vector<std::vector<Index>> children_;
  std::vector<std::uint64_t> waiting_;  ///< by node: number of parents that are not issued
};

}  // namespace

void check_edges(const ChakraFile& file, ChakraCounts& counts, ChakraFindings& findings) {
  EdgeCheck(file, counts, findings).check();
}

}  // namespace understudy::et_schema
