#include "chakra_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "et_schema/base/error.h"

namespace understudy::et_schema {
namespace {

bool is_comm_type(ChakraNodeType type) {
  return type == ChakraNodeType::kCollective || type == ChakraNodeType::kSend ||
         type == ChakraNodeType::kRecv;
}

/// Returns true if the node has data of a node in PyTorch's trace.
bool is_recorded(const ChakraNode& node) {
  return node.find("rf_id") != nullptr || !node.text("op_schema").empty() ||
         !node.inputs.types.empty();
}

class RoleFinder {
 public:
  RoleFinder(const ChakraFile& file, Losses& losses)
      : file_(file),
        losses_(losses),
        is_synthetic_(std::ranges::none_of(file.nodes, is_recorded)) {}

  ChakraRoles find() {
    sort_by_id();
    const std::size_t count = file_.nodes.size();
    roles_.role.assign(count, ChakraRole::kHost);
    roles_.launcher.assign(count, kNoPosition);
    roles_.whole.resize(count);
    roles_.is_cut.resize(count);
    roles_.parent.assign(count, kNoPosition);
    for (std::size_t i = 0; i < count; ++i) {
      is_host_.push_back(is_host(file_.nodes[i]));
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      check_dependencies(file_.nodes[i]);
      if (!is_host_[i]) {
        find_device_role(i);
      } else if (!is_recorded(file_.nodes[i]) && file_.nodes[i].type == ChakraNodeType::kCompute) {
        set_time_only(i);
      }
    }
    join_parts();
    find_parents();
    return std::move(roles_);
  }

 private:
  void sort_by_id() {
    roles_.in_order.resize(file_.nodes.size());
    std::iota(roles_.in_order.begin(), roles_.in_order.end(), 0U);
    std::ranges::stable_sort(roles_.in_order, {},
                             [this](std::uint32_t i) { return file_.nodes[i].id; });
    for (std::size_t i = 1; i < roles_.in_order.size(); ++i) {
      const ChakraNode& before = file_.nodes[roles_.in_order[i - 1]];
      const ChakraNode& node = file_.nodes[roles_.in_order[i]];
      if (before.id == node.id) {
        throw bad_input("two nodes of one id",
                        {.node = node.id,
                         .field = chakra_place(node, "id"),
                         .expected = "an id for each node",
                         .got = fmt::format("that of the node at byte {}", before.offset)});
      }
    }
  }

  [[nodiscard]] std::uint32_t find_id(std::uint64_t id) const {
    const auto found = std::ranges::lower_bound(
        roles_.in_order, id, {}, [this](std::uint32_t i) { return file_.nodes[i].id; });
    return found != roles_.in_order.end() && file_.nodes[*found].id == id ? *found : kNoPosition;
  }

  static bool is_host(const ChakraNode& node) {
    const std::optional<std::int64_t> is_cpu = node.integer("is_cpu_op");
    return is_cpu ? *is_cpu != 0 : !is_comm_type(node.type);
  }

  void check_dependencies(const ChakraNode& node) {
    if (std::ranges::find(node.data_deps, node.id) != node.data_deps.end()) {
      throw bad_input("a node needs itself", {.node = node.id,
                                              .field = chakra_place(node, "data_deps"),
                                              .expected = "other nodes",
                                              .got = fmt::format("node {}", node.id)});
    }
    for (const auto& deps : {node.data_deps, node.ctrl_deps}) {
      losses_.add(Loss::kMissingNodes,
                  static_cast<std::uint64_t>(std::ranges::count_if(
                      deps, [this](std::uint64_t id) { return find_id(id) == kNoPosition; })));
    }
  }

  /// In Chakra's converter, a device node's first dependency is the host node that launched it. Our
  /// nodes of work that no operator launched say so.
  void find_device_role(std::uint32_t i) {
    const ChakraNode& node = file_.nodes[i];
    const bool has_launcher = node.find("in_no_operator") == nullptr;
    for (const std::uint64_t id : node.data_deps) {
      const std::uint32_t parent = find_id(id);
      if (has_launcher && parent != kNoPosition && is_host_[parent] &&
          is_recorded(file_.nodes[parent])) {
        roles_.role[i] = ChakraRole::kDevice;
        roles_.launcher[i] = parent;
        return;
      }
    }
    const bool is_call = node.find("comm_type") != nullptr || node.type == ChakraNodeType::kSend ||
                         node.type == ChakraNodeType::kRecv;
    if (is_comm_type(node.type) && is_call) {
      roles_.role[i] = ChakraRole::kComm;
      losses_.add(Loss::kMadeUpBuffers);
    } else {
      set_time_only(i);
    }
  }

  void set_time_only(std::uint32_t i) {
    const ChakraNode& node = file_.nodes[i];
    const bool is_known = node.duration_us > 0 || node.integer("num_ops").value_or(0) > 0;
    const bool is_work = is_synthetic_ && is_known && !is_comm_type(node.type) &&
                         node.type >= ChakraNodeType::kMemoryLoad;
    roles_.role[i] = is_work ? ChakraRole::kWork : ChakraRole::kTimeOnly;
    losses_.add(Loss::kTimeOnlyNodes, is_work ? 0U : 1U);
  }

  /// The converter splits operators at launches. Parts share rf_id and the name before "(0)",
  /// "(1)", …
  void join_parts() {
    std::unordered_map<std::int64_t, std::uint32_t> first_of;
    for (const std::uint32_t i : roles_.in_order) {
      roles_.whole[i] = i;
      const std::int64_t rf_id = file_.nodes[i].integer("rf_id").value_or(0);
      if (roles_.role[i] != ChakraRole::kHost || rf_id == 0) {
        continue;
      }
      const auto [entry, is_new] = first_of.try_emplace(rf_id, i);
      const std::string_view name = file_.nodes[i].name;
      const std::string_view first_name = file_.nodes[entry->second].name;
      if (!is_new && without_part(name) != name && first_name != without_part(first_name) &&
          without_part(name) == without_part(first_name)) {
        roles_.whole[i] = entry->second;
        roles_.is_cut[entry->second] = true;
      }
    }
  }

  /// By convention, control dependencies name parents. Some files name ids from before the nodes
  /// were renumbered, others use control dependencies for any order; such files get no parents.
  void find_parents() {
    std::uint64_t edges = 0;
    bool is_stale = false;
    for (std::uint32_t i = 0; i < file_.nodes.size(); ++i) {
      const ChakraNode& node = file_.nodes[i];
      if (roles_.role[i] != ChakraRole::kHost) {
        continue;
      }
      for (const std::uint64_t id : node.ctrl_deps) {
        const std::uint32_t parent = find_id(id);
        if (parent != kNoPosition) {
          ++edges;
          is_stale = is_stale || node.ctrl_deps.size() > 1 || !can_be_parent(parent, i);
          roles_.parent[i] = parent;
        }
      }
    }
    if (is_stale) {
      losses_.add(Loss::kStaleControlEdges, edges);
      std::ranges::fill(roles_.parent, kNoPosition);
    }
  }

  [[nodiscard]] bool can_be_parent(std::uint32_t parent, std::uint32_t child) const {
    const ChakraNode& above = file_.nodes[parent];
    const ChakraNode& below = file_.nodes[child];
    const std::optional<std::int64_t> above_rf = above.integer("rf_id");
    const std::optional<std::int64_t> below_rf = below.integer("rf_id");
    return roles_.role[parent] == ChakraRole::kHost && above.id < below.id && below_rf &&
           (!above_rf || *above_rf < *below_rf);
  }

  const ChakraFile& file_;
  Losses& losses_;
  bool is_synthetic_;  ///< made for a simulator: no node is of PyTorch's trace
  ChakraRoles roles_;
  std::vector<bool> is_host_;
};

}  // namespace

ChakraRoles find_chakra_roles(const ChakraFile& file, Losses& losses) {
  return RoleFinder(file, losses).find();
}

std::string_view without_part(std::string_view name) {
  if (!name.ends_with(')')) {
    return name;
  }
  const std::size_t open = name.substr(0, name.size() - 1).find_last_not_of("0123456789");
  const bool is_part = open != std::string_view::npos && name[open] == '(' &&
                       open + 2 < name.size();  // a digit at least
  return is_part ? name.substr(0, open) : name;
}

std::string chakra_place(const ChakraNode& node, std::string_view field) {
  return fmt::format("{} of the node at byte {}", field, node.offset);
}

}  // namespace understudy::et_schema
