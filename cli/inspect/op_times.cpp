#include "op_times.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/pages/document/from_json.h"
#include "et_schema/base/assert.h"
#include "et_schema/base/enum_names.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/map_values.h"
#include "et_schema/formats/pytorch_et/comm_calls.h"
#include "et_schema/model/op_class.h"
#include "generator/flow/autograd.h"

namespace understudy::cli {
namespace {

constexpr double kMsPerNs = 1e-6;

using Json = nlohmann::ordered_json;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::kNoNode;
using et_schema::Node;
using et_schema::NodeClass;
using et_schema::NodeIndex;
using et_schema::Program;
using et_schema::row_named;
using et_schema::Trace;
using generator::Link;
using pages::counts, pages::figures, pages::shares, pages::shortened, pages::table_at, pages::texts;

/// Returns the phase that a node itself names; empty: the parent's.
std::string_view phase_told_by(const Node& node) {
  if (node.scope == et_schema::Scope::kBackwardFunction ||
      node.name.starts_with("autograd::engine::evaluate_function")) {
    return "backward";
  }
  if (!node.op_schema.empty()) {
    return "";
  }
  if (node.name.starts_with("Optimizer.")) {
    return "optimizer";
  }
  return node.name.starts_with("enumerate(DataLoader)") ? "data" : "";
}

/// Returns true if a label names a part of the program, and is not PyTorch's own label around
/// everything or a communication.
bool names_a_part(const Node& node) {
  return node.scope == et_schema::Scope::kUserScope && node.op_schema.empty() &&
         !node.name.starts_with("ProfilerStep#") && !node.name.starts_with("[pytorch|profiler|") &&
         !node.name.starts_with("## process_group:") && !node.name.starts_with("nccl:") &&
         !node.name.starts_with("gloo:");
}

/// Returns an element for each node. For the label around a backward operator: the forward node
/// whose modules also apply to the label. For all other nodes: kNoNode.
std::vector<NodeIndex> causes_of(const Trace& trace) {
  const std::vector<NodeIndex> forwards = generator::find_forwards(trace);
  const std::vector<NodeIndex> producers = generator::find_gradient_producers(trace);
  std::vector<NodeIndex> causes(trace.nodes.size(), kNoNode);
  for (NodeIndex node = 0; node < trace.nodes.size(); ++node) {
    const NodeIndex cause = forwards[node] != kNoNode ? forwards[node] : producers[node];
    const NodeIndex label = cause == kNoNode ? node : generator::evaluation_of(trace, node);
    if (cause != kNoNode && cause < label) {
      causes[label] = cause;
    }
  }
  return causes;
}

/// Returns the phase by node: "forward", "backward", "optimizer" or "data" (a DataLoader's), from
/// the labels around it; "forward" if there are none.
std::vector<std::string_view> phases_of(const Trace& trace) {
  std::vector<std::string_view> phases;
  phases.reserve(trace.nodes.size());
  for (const Node& node : trace.nodes) {
    const std::string_view told = phase_told_by(node);
    const std::string_view above = node.parent == kNoNode ? "forward" : phases[node.parent];
    phases.push_back(told.empty() ? above : told);
  }
  return phases;
}

/// Returns the program's own labels (record_function) around each node, outermost first, joined by
/// "/". In a backward pass these are the labels around the forward operator. Empty: none.
std::vector<std::string> modules_of(const Trace& trace) {
  const std::vector<NodeIndex> causes = causes_of(trace);
  std::vector<std::string> modules(trace.nodes.size());
  for (NodeIndex index = 0; index < trace.nodes.size(); ++index) {
    const Node& node = trace.nodes[index];
    std::string& module = modules[index];
    if (causes[index] != kNoNode) {
      module = modules[causes[index]];
    } else if (node.parent != kNoNode) {
      module = modules[node.parent];
    }
    if (names_a_part(node)) {
      module += (module.empty() ? "" : "/") + std::string(node.name);
    }
  }
  return modules;
}

void add(OpRow& sum, const OpRow& row) {
  sum.count += row.count;
  sum.timed += row.timed;
  sum.self_ns += row.self_ns;
  sum.device_ns += row.device_ns;
}

using Rows = std::map<std::string, OpRow>;  ///< by name

void set_rows(Rows rows, RankOps& ops) {
  for (const auto& [name, row] : rows) {
    add(ops.total, row);
  }
  const auto time = ops.total.device_ns > 0 ? &OpRow::device_ns : &OpRow::self_ns;
  ops.rows = et_schema::largest_first(
      std::move(rows), [time](const OpRow& row) { return std::pair(row.*time, row.count); });
}

std::string shapes_text(const std::vector<std::string>& tensors) {
  return tensors.empty() ? "" : fmt::format(" ({})", fmt::join(tensors, ", "));
}

/// Adds the step's device time outside of operators.
void add_outside(const et_schema::RecordedProfile& profile, GroupBy by, Rows& rows) {
  for (const et_schema::OutsideTime& time : profile.outside) {
    if (time.device_ns > 0) {
      const bool is_named = by == GroupBy::kName && !time.name.empty();
      row_named(is_named ? time.name : std::string(to_string(time.why)), rows).device_ns +=
          time.device_ns;
    }
  }
}

class TraceGroups {
 public:
  TraceGroups(const Trace& trace, const Link* link, GroupBy by)
      : trace_(trace), link_(link), by_(by), calls_(et_schema::communication_calls(trace)) {
    if (by == GroupBy::kPhase) {
      phases_ = phases_of(trace);
    } else if (by == GroupBy::kModule) {
      modules_ = modules_of(trace);
    }
  }

  RankOps group() {
    RankOps ops{.by = by_};
    Rows rows;
    for (NodeIndex node = 0; node < trace_.nodes.size(); ++node) {
      if (is_counted(node) || has_launched(node)) {
        add(node, row_named(name_of(node), rows));
      }
    }
    if (link_ != nullptr) {
      add_outside(link_->profile, by_, rows);
    }
    set_rows(std::move(rows), ops);
    if (link_ != nullptr) {
      ops.step_ns = link_->profile.step_ns;
    }
    return ops;
  }

 private:
  /// Returns true for operators, and for communications that inspect counts.
  [[nodiscard]] bool is_counted(NodeIndex node) const {
    if (const auto call = calls_.find(node); call != calls_.end()) {
      return call->second.kind != et_schema::CommKind::kInit;
    }
    const NodeClass kind = et_schema::classify(trace_.nodes[node]);
    return kind == NodeClass::kOperator || kind == NodeClass::kKernel;
  }

  /// Returns true for a label in which work without an operator was launched.
  [[nodiscard]] bool has_launched(NodeIndex node) const {
    return link_ != nullptr && own_device_ns(trace_, *link_, node) > 0;
  }

  [[nodiscard]] std::string name_of(NodeIndex node) const {
    const auto call = calls_.find(node);
    const bool is_call = call != calls_.end();
    const std::string name(is_call ? std::string_view(call->second.name) : trace_.nodes[node].name);
    switch (by_) {
      case GroupBy::kClass:
        return is_call            ? "communication"
               : is_counted(node) ? std::string(et_schema::op_class(name))
                                  : std::string(to_string(et_schema::Outside::kLabel));
      case GroupBy::kModule:
        return modules_[node].empty() ? "(no label)" : modules_[node];
      case GroupBy::kPhase:
        return std::string(phases_[node]);
      case GroupBy::kShape: {
        std::vector<std::string> tensors;
        et_schema::for_each_tensor(trace_.nodes[node].inputs, [&](const et_schema::Tensor& tensor) {
          tensors.push_back(tensor_text(tensor));
        });
        return name + shapes_text(tensors);
      }
      case GroupBy::kName:
        break;
    }
    return name;
  }

  void add(NodeIndex node, OpRow& row) const {
    ++row.count;
    if (link_ == nullptr || !link_->nodes[node]) {
      return;
    }
    ++row.timed;
    row.self_ns += is_counted(node) ? link_->nodes[node]->self_ns : 0;
    row.device_ns += own_device_ns(trace_, *link_, node);
  }

  const Trace& trace_;
  const Link* link_;
  GroupBy by_;
  std::map<NodeIndex, et_schema::CommCall> calls_;
  std::vector<std::string_view> phases_;
  std::vector<std::string> modules_;
};

std::string name_of(const Program& program, const Instruction& instruction, GroupBy by) {
  if (by == GroupBy::kClass) {
    return class_of(instruction);
  }
  if (by != GroupBy::kShape) {
    return instruction.name;
  }
  std::vector<std::string> tensors;
  et_schema::for_each_slot(instruction.args, [&](et_schema::SlotId id) {
    const et_schema::Slot& slot = program.slots[id];
    tensors.push_back(
        fmt::format("{}[{}]", et_schema::to_string(slot.dtype), fmt::join(slot.sizes, ",")));
  });
  return instruction.name + shapes_text(tensors);
}

/// Returns the share of the device time if any, else of the host time; nothing without times.
std::optional<double> share_of(const OpRow& row, const OpRow& total) {
  const auto time = total.device_ns > 0 ? &OpRow::device_ns : &OpRow::self_ns;
  return total.*time > 0
             ? std::optional(static_cast<double>(row.*time) / static_cast<double>(total.*time))
             : std::nullopt;
}

std::string ms_text(std::int64_t ns) {
  return et_schema::figure_text(static_cast<double>(ns) * kMsPerNs);
}

}  // namespace

std::string class_of(const Instruction& instruction) {
  return instruction.comm ? "communication" : std::string(et_schema::op_class(instruction.name));
}

std::uint64_t tensor_bytes(const et_schema::Tensor& tensor) {
  return static_cast<std::uint64_t>(tensor.numel) * static_cast<std::uint64_t>(tensor.item_bytes);
}

std::string tensor_text(const et_schema::Tensor& tensor) {
  return tensor.defined()
             ? fmt::format("{}[{}]", to_string(tensor.dtype), fmt::join(tensor.sizes, ","))
             : "undefined";
}

std::string_view to_string(GroupBy by) {
  return et_schema::EnumNames<GroupBy::kShape>("name", "class", "module", "phase", "shape")[by];
}

RankOps group_operators(const Trace& trace, const Link* link, GroupBy by) {
  return TraceGroups(trace, link, by).group();
}

RankOps group_operators(const Program& program, GroupBy by) {
  UNDERSTUDY_ASSERT(by != GroupBy::kModule && by != GroupBy::kPhase);
  RankOps ops{.by = by};
  Rows rows;
  for (const Instruction& instruction : program.instructions) {
    if (instruction.kind == InstructionKind::kAlias ||
        instruction.kind == InstructionKind::kMarker) {
      continue;
    }
    OpRow& row = row_named(name_of(program, instruction, by), rows);
    ++row.count;
    if (instruction.timing) {
      ++row.timed;
      row.self_ns += instruction.timing->host_ns;
      row.device_ns += instruction.timing->device_ns;
    }
  }
  if (program.profile) {
    add_outside(*program.profile, by, rows);
    ops.step_ns = program.profile->step_ns;
  }
  set_rows(std::move(rows), ops);
  return ops;
}

RankOps sum_of(const std::vector<RankOps>& ranks) {
  RankOps sum{.by = ranks.front().by};
  Rows rows;
  for (const RankOps& ops : ranks) {
    for (const OpRow& row : ops.rows) {
      add(row_named(row.name, rows), row);
    }
    if (ops.step_ns) {
      sum.step_ns = sum.step_ns.value_or(0) + *ops.step_ns;
    }
  }
  set_rows(std::move(rows), sum);
  return sum;
}

void add_ops(Json& object, const RankOps& ops) {
  Json list = Json::array();
  for (const OpRow& row : ops.rows) {
    const std::optional<double> share = share_of(row, ops.total);
    list.push_back(
        {{"name", row.name},
         {"count", row.count},
         {"timed", row.timed},
         {"self_ns", row.timed > 0 ? Json(row.self_ns) : Json()},
         {"device_ns", row.timed > 0 || row.device_ns > 0 ? Json(row.device_ns) : Json()},
         {"share", share ? Json(*share) : Json()}});
  }
  object["ops_by"] = to_string(ops.by);
  object["ops_self_ns"] = ops.step_ns ? Json(ops.total.self_ns) : Json();
  object["ops_device_ns"] = ops.step_ns ? Json(ops.total.device_ns) : Json();
  object["step_ns"] = ops.step_ns ? Json(*ops.step_ns) : Json();
  object["ops"] = std::move(list);
}

void add_all_ops(Json& document, const std::vector<RankOps>& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    add_ops(document["ranks"][rank], ranks[rank]);
  }
  if (ranks.size() > 1) {
    add_ops(document["all_ranks"], sum_of(ranks));
  }
}

pages::Table ops_table(const Json& document, const std::string& at, const RankOps& all) {
  constexpr std::size_t kLongestName = 120;
  const std::string by(to_string(all.by));
  std::vector<pages::Column> columns = {
      shortened(texts(all.by == GroupBy::kName ? "operator" : by, "name"), kLongestName),
      counts("calls", "count")};
  if (all.step_ns) {
    columns.push_back(figures("self ms", "self_ns", kMsPerNs));
    if (all.total.device_ns > 0) {
      columns.push_back(figures("device ms", "device_ns", kMsPerNs));
    }
    columns.push_back(shares("share"));
  }
  return table_at(document, at, "Operators by " + by, std::move(columns));
}

pages::Section ops_section(const Json& document, const std::vector<RankOps>& ranks) {
  const RankOps all = sum_of(ranks);
  pages::Notes totals;
  if (all.step_ns) {
    const std::int64_t rest = std::max<std::int64_t>(*all.step_ns - all.total.self_ns, 0);
    totals.texts.push_back(fmt::format("{} ms in operators, {} ms of the step{} in none of them",
                                       ms_text(all.total.self_ns), ms_text(rest),
                                       ranks.size() == 1 ? "" : "s"));
    if (all.total.timed < all.total.count) {
      totals.texts.push_back(fmt::format("{} of {} calls have no recorded time",
                                         et_schema::with_commas(all.total.count - all.total.timed),
                                         et_schema::with_commas(all.total.count)));
    }
  }
  return {
      "ops",
      "Operators",
      {ops_table(document, ranks.size() == 1 ? "/ranks/0/ops" : "/all_ranks/ops", all), totals}};
}

}  // namespace understudy::cli
