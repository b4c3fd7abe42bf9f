#include "inspect/op_times.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "et_schema/model/op_class.h"
#include "et_schema/pytorch_et/comm_calls.h"
#include "et_schema/support/assert.h"
#include "inspect/op_places.h"
#include "inspect/summary.h"

namespace understudy::cli {
namespace {

using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::kNoNode;
using et_schema::Node;
using et_schema::NodeClass;
using et_schema::NodeIndex;
using et_schema::Program;
using et_schema::Trace;
using generator::Link;

/// Rows by name, and their order.
class Rows {
 public:
  OpRow& of(const std::string& name) {
    OpRow& found = rows_[name];
    found.name = name;
    return found;
  }

  void finish(RankOps& ops) {
    for (auto& [name, row] : rows_) {
      ops.total.count += row.count;
      ops.total.timed += row.timed;
      ops.total.self_ns += row.self_ns;
      ops.total.device_ns += row.device_ns;
      ops.rows.push_back(std::move(row));
    }
    const auto time = ops.total.device_ns > 0 ? &OpRow::device_ns : &OpRow::self_ns;
    std::ranges::stable_sort(ops.rows, [time](const OpRow& a, const OpRow& b) {
      return std::pair(a.*time, a.count) > std::pair(b.*time, b.count);
    });
  }

 private:
  std::map<std::string, OpRow> rows_;
};

std::string shapes_text(const std::vector<std::string>& tensors) {
  return tensors.empty() ? "" : fmt::format(" ({})", fmt::join(tensors, ", "));
}

/// Device time of the step that is no operator's.
void add_outside(const et_schema::RecordedProfile& profile, GroupBy by, Rows& rows) {
  for (const et_schema::OutsideTime& time : profile.outside) {
    if (time.device_ns > 0) {
      const bool is_named = by == GroupBy::kName && !time.name.empty();
      rows.of(is_named ? time.name : std::string(to_string(time.why))).device_ns += time.device_ns;
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
    RankOps ops;
    ops.rank = trace_.rank;
    Rows rows;
    for (NodeIndex node = 0; node < trace_.nodes.size(); ++node) {
      if (is_counted(node) || has_launched(node)) {
        add(node, rows.of(name_of(node)));
      }
    }
    if (link_ != nullptr) {
      add_outside(link_->profile, by_, rows);
    }
    rows.finish(ops);
    if (link_ != nullptr) {
      ops.step_ns = link_->profile.step_ns;
    }
    return ops;
  }

 private:
  /// The communications that inspect counts, and all other operators.
  [[nodiscard]] bool is_counted(NodeIndex node) const {
    if (const auto call = calls_.find(node); call != calls_.end()) {
      return call->second.kind != et_schema::CommKind::kInit;
    }
    const NodeClass kind = et_schema::classify(trace_.nodes[node]);
    return kind == NodeClass::kOperator || kind == NodeClass::kKernel;
  }

  /// A label in which work was launched that no operator shows.
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
    return instruction.comm ? "communication" : std::string(et_schema::op_class(instruction.name));
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

}  // namespace

std::string_view to_string(GroupBy by) {
  switch (by) {
    case GroupBy::kClass:
      return "class";
    case GroupBy::kModule:
      return "module";
    case GroupBy::kPhase:
      return "phase";
    case GroupBy::kShape:
      return "shape";
    case GroupBy::kName:
      break;
  }
  return "name";
}

RankOps group_operators(const Trace& trace, const Link* link, GroupBy by) {
  return TraceGroups(trace, link, by).group();
}

RankOps group_operators(const Program& program, int rank, GroupBy by) {
  UNDERSTUDY_ASSERT(by != GroupBy::kModule && by != GroupBy::kPhase);
  RankOps ops;
  ops.rank = rank;
  Rows rows;
  for (const Instruction& instruction : program.instructions) {
    if (instruction.kind == InstructionKind::kAlias ||
        instruction.kind == InstructionKind::kMarker) {
      continue;
    }
    OpRow& row = rows.of(name_of(program, instruction, by));
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
  rows.finish(ops);
  return ops;
}

}  // namespace understudy::cli
