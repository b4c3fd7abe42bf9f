#include "generator/lowering/lowering.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "et_schema/base/assert.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/open_comms.h"
#include "generator/flow/below.h"
#include "generator/flow/model_names.h"
#include "generator/lowering/slots.h"
#include "graph_memory.h"

namespace understudy::generator {
namespace {

using et_schema::CommCall;

/// Iterates over the lifetimes of an operator's tensors in the order of its recorded values.
class LifetimeCursor {
 public:
  explicit LifetimeCursor(const std::vector<LifetimeId>& lifetimes)
      : next_(lifetimes.begin()), end_(lifetimes.end()) {}
  LifetimeId take() {
    UNDERSTUDY_ASSERT(next_ != end_);
    return *next_++;
  }

 private:
  std::vector<LifetimeId>::const_iterator next_;
  std::vector<LifetimeId>::const_iterator end_;
};

/// Returns true for operators that compute no result of the kernel above them: they allocate
/// memory, or return their input.
bool makes_nothing(std::string_view name) {
  return name.find("::empty") != std::string_view::npos ||
         name.find("::new_empty") != std::string_view::npos ||
         name.find("::resolve_") != std::string_view::npos;
}

/// Returns true for a forward operator that runs within a backward pass, as checkpointing makes
/// it: autograd numbers forward operators, but none of a gradient's own.
bool is_recomputed(const Trace& trace, NodeIndex index) {
  bool is_numbered = false;
  for (; index != kNoNode; index = trace.nodes[index].parent) {
    const Node& node = trace.nodes[index];
    if (node.name.starts_with("autograd::engine::evaluate_function: ")) {
      return is_numbered;
    }
    is_numbered = is_numbered || (node.scope == et_schema::Scope::kFunction && node.seq_id >= 0);
  }
  return false;
}

/// The communications issued so far in a program. Counts waits that match none of them.
class IssuedComms {
 public:
  /// Adds a communication or a wait. Adds unmatched waits to the program's losses.
  void add(const Instruction& instruction, Program& program) {
    const et_schema::CommInfo& call = *instruction.comm;
    if (call.kind == CommKind::kWait) {
      program.losses.add(Loss::kUnmatchedWaits, is_issued(instruction, program) ? 0 : 1);
      return;
    }
    if (call.seq) {
      by_seq_.emplace(*call.seq, call);
    }
    et_schema::for_each_slot(instruction.args,
                             [&](SlotId slot) { touched_.insert(program.slots[slot].storage); });
  }

 private:
  /// Returns true if the communication that a wait joins was issued in this program.
  [[nodiscard]] bool is_issued(const Instruction& wait, const Program& program) const {
    bool issued = false;
    et_schema::for_each_slot(wait.args, [&](SlotId slot) {
      issued = issued || touched_.contains(program.slots[slot].storage);
    });
    if (wait.comm->seq) {
      const auto [begin, end] = by_seq_.equal_range(*wait.comm->seq);
      issued = issued || std::any_of(begin, end, [&](const auto& entry) {
                 return et_schema::can_be_wait_of(*wait.comm, entry.second);
               });
    }
    return issued;
  }

  std::unordered_multimap<std::int64_t, et_schema::CommInfo> by_seq_;
  std::unordered_set<StorageId> touched_;  ///< storages that a communication has used
};

class Lowering {
 public:
  Lowering(const Trace& trace, const CommCalls& calls, const Flow& flow, const Selected& selected,
           Groups& groups)
      : trace_(trace),
        calls_(calls),
        flow_(flow),
        selected_(selected),
        groups_(groups),
        slots_(trace, program_) {
    for (LifetimeId id = 0; id < flow.lifetimes.size(); ++id) {
      const NodeIndex birth = flow.lifetimes[id].birth;
      if (birth == kNoNode || selected.owner[birth] == kNoNode) {
        slots_.mark_external(id);
        began_outside_.insert(id);
      }
    }
  }

  et_schema::Program lower(const std::vector<WorkingLabel>& labels) {
    std::size_t next_label = 0;
    std::vector<WorkingLabel> in_order = labels;
    std::ranges::stable_sort(in_order, {}, &WorkingLabel::after);
    for (NodeIndex node : selected_.operators) {
      while (next_label < in_order.size() && in_order[next_label].after < node) {
        lower_label(in_order[next_label++]);
      }
      lower_operator(node, program_.instructions);
    }
    while (next_label < in_order.size()) {
      lower_label(in_order[next_label++]);
    }
    program_.losses.add(Loss::kAliases, aliases_);
    program_.losses.add(Loss::kGraphAllocations, graph_allocations_);
    return std::move(program_);
  }

 private:
  void lower_operator(NodeIndex index, std::vector<Instruction>& into) {
    const auto call = calls_.find(index);
    if (call != calls_.end()) {
      lower_communication(index, call->second, into);
      return;
    }
    const Node& node = trace_.nodes[index];
    Instruction instruction;
    instruction.kind = et_schema::classify(node) == et_schema::NodeClass::kKernel
                           ? InstructionKind::kKernel
                           : InstructionKind::kOp;
    instruction.node_id = node.id;
    instruction.thread = node.tid;
    instruction.recomputed = is_recomputed(trace_, index);
    if (instruction.kind == InstructionKind::kOp) {
      instruction.name = std::string(et_schema::operator_name(node.op_schema));
      instruction.schema = schema_id(node.op_schema);
    } else {
      instruction.name = std::string(node.name);
    }
    reader_ = &node;
    const bool is_kernel = instruction.kind == InstructionKind::kKernel;
    const std::vector<Allocated> allocated = allocated_for(flow_, index);
    graph_allocations_ += &into == &program_.instructions ? allocated.size() : 0;
    for (const Allocated& memory : allocated) {
      last_seen_[memory.tensor->storage_id] = memory.lifetime;
      if (!is_kernel) {
        make_allocation(memory, into);
      }
    }
    LifetimeCursor reads(flow_.reads[index]);
    const auto read = [&](const Tensor& tensor) -> std::optional<SlotId> {
      const LifetimeId lifetime = reads.take();
      if (is_kernel && is_allocated_for(flow_, index, lifetime)) {
        return std::nullopt;  // memory allocated for a kernel is an undefined argument
      }
      return read_tensor(tensor, lifetime, into);
    };
    for (const Value& value : node.inputs) {
      instruction.args.push_back(argument_of(value, read));
    }
    if (is_kernel) {
      drop_stream(instruction);
    }
    if (!selected_.is_open[index] && body_can_stand_for(index)) {
      instruction.body = lower_body(node);
    }
    LifetimeCursor writes(flow_.writes[index]);
    const auto define = [&](const Tensor& tensor) -> std::optional<SlotId> {
      const LifetimeId lifetime = writes.take();
      last_seen_[tensor.storage_id] = lifetime;
      return slots_.define(lifetime, tensor, index);
    };
    for (const Value& value : node.outputs) {
      instruction.results.push_back(argument_of(value, define));
    }
    for (const Allocated& memory : allocated) {
      if (is_kernel) {
        instruction.results.push_back(
            {Argument::SlotRef{slots_.define(memory.lifetime, *memory.tensor, index)}});
      }
    }
    into.push_back(std::move(instruction));
  }

  /// Removes the stream that PyTorch's observer appends to inductor's launches.
  static void drop_stream(Instruction& kernel) {
    if (kernel.args.empty() || !std::holds_alternative<std::int64_t>(kernel.args.back().value)) {
      return;
    }
    const Argument stream = std::move(kernel.args.back());
    kernel.args.pop_back();
    if (!et_schema::launch_of(kernel)) {
      kernel.args.push_back(stream);
    }
  }

  static Argument reference_to(std::optional<SlotId> slot) {
    return slot ? Argument{Argument::SlotRef{*slot}} : Argument{Argument::Undefined{}};
  }

  /// Converts a recorded value to an argument; `slot_of` returns a defined tensor's slot.
  template <typename SlotOf>
  static Argument argument_of(const Value& value, const SlotOf& slot_of) {
    switch (value.kind()) {
      case ValueKind::kTensor:
        return reference_to(value.tensor().defined() ? slot_of(value.tensor()) : std::nullopt);
      case ValueKind::kList:
      case ValueKind::kTuple: {
        Argument::List list;
        for (const Value& item : value.items()) {
          list.push_back(argument_of(item, slot_of));
        }
        return {std::move(list)};
      }
      default:
        return plain_argument(value);
    }
  }

  /// Adds an instruction for memory that the compiled graph allocated without the dispatcher.
  void make_allocation(const Allocated& memory, std::vector<Instruction>& into) {
    const SlotId slot = slots_.define(memory.lifetime, *memory.tensor, kNoNode);
    Instruction allocation = allocation_of(program_.slots[slot], slot, memory.tensor->device);
    allocation.thread = reader_->tid;
    allocation.schema = schema_id(kEmptyStrided);
    into.push_back(std::move(allocation));
  }

  /// Returns true if the operators below the node make all of its results, so that they can replace
  /// it. A kernel that calls no operators has only allocations below it.
  [[nodiscard]] bool body_can_stand_for(NodeIndex index) const {
    std::vector<const Tensor*> made = flow_.inputs[index];
    bool computes = false;
    walk_below(trace_, index, [&](NodeIndex below) {
      if (flow_.is_operator[below] && !makes_nothing(trace_.nodes[below].name)) {
        computes = true;
        made.insert(made.end(), flow_.outputs[below].begin(), flow_.outputs[below].end());
      }
      return Walk::kInto;
    });
    return computes && std::ranges::all_of(flow_.outputs[index], [&](const Tensor* result) {
             return std::ranges::any_of(made, [&](const Tensor* tensor) {
               return tensor->tensor_id == result->tensor_id &&
                      tensor->storage_id == result->storage_id &&
                      tensor->storage_offset == result->storage_offset &&
                      std::ranges::equal(tensor->sizes, result->sizes);
             });
           });
  }

  std::vector<Instruction> lower_body(const Node& node) {
    std::vector<Instruction> body;
    slots_.enter_body();
    lower_below(node, body);
    slots_.leave_body();
    return body;
  }

  /// Lowers the operators below a node, including those below labels.
  void lower_below(const Node& node, std::vector<Instruction>& into) {
    for (NodeIndex child : node.children) {
      if (flow_.is_operator[child]) {
        lower_operator(child, into);
      } else {
        lower_below(trace_.nodes[child], into);
      }
    }
  }

  void lower_communication(NodeIndex index, const CommCall& call, std::vector<Instruction>& into) {
    Instruction instruction;
    instruction.kind = call.kind == CommKind::kWait ? InstructionKind::kWait
                       : is_message(call.kind)      ? InstructionKind::kP2p
                                                    : InstructionKind::kCollective;
    instruction.node_id = trace_.nodes[index].id;
    instruction.thread = trace_.nodes[index].tid;
    instruction.name = call.name;
    et_schema::CommInfo info = call;
    info.group = groups_.find(trace_, call, program_.losses);
    info.names_group = call.kind == CommKind::kWait && !call.pg_name.empty();
    if (info.reduce_op.empty()) {
      info.reduce_op = "sum";
      info.reduce_op_why = "assumed";
      program_.losses.add(Loss::kAssumedReduceOps);
    }
    program_.losses.add(Loss::kAssumedCommunication, call.lacks_splits ? 1 : 0);
    LifetimeCursor reads(flow_.reads[index]);
    if (call.kind == CommKind::kWait) {
      instruction.args = read_tensors(call.inputs, reads, into);
    } else if (call.kind != CommKind::kBarrier) {
      Argument::List inputs = read_tensors(call.inputs, reads, into);
      Argument::List outputs = read_tensors(call.outputs, reads, into);
      instruction.args = {Argument{std::move(inputs)}, Argument{std::move(outputs)}};
    }
    instruction.comm = std::move(info);
    issued_.add(instruction, program_);
    into.push_back(std::move(instruction));
  }

  Argument::List read_tensors(const std::vector<const Tensor*>& tensors, LifetimeCursor& reads,
                              std::vector<Instruction>& into) {
    Argument::List list;
    for (const Tensor* tensor : tensors) {
      list.push_back(reference_to(tensor->defined()
                                      ? std::optional(read_tensor(*tensor, reads.take(), into))
                                      : std::nullopt));
    }
    return list;
  }

  /// Lowers a label. Operators made its inputs, so each input resolves to the slot that an operator
  /// last used for it.
  void lower_label(const WorkingLabel& label) {
    const Node& node = trace_.nodes[label.label];
    Instruction instruction;
    instruction.kind = InstructionKind::kNative;
    instruction.node_id = node.id;
    instruction.thread = node.tid;
    instruction.name = std::string(node.name);
    const Instruction* forward = find_lowered(label.forward);
    instruction.schema = forward != nullptr ? forward->schema : std::nullopt;
    // The forward operator's arguments come from its instruction, with the slots of that call.
    instruction.args = {Argument{label_inputs(node)},
                        Argument{forward != nullptr ? forward->args : Argument::List{}},
                        Argument{known_slots(label.allocated)}};
    program_.instructions.push_back(std::move(instruction));
  }

  Argument::List label_inputs(const Node& node) {
    std::vector<const Tensor*> inputs;
    et_schema::for_each_tensor(node.inputs,
                               [&inputs](const Tensor& tensor) { inputs.push_back(&tensor); });
    return known_slots(inputs);
  }

  Argument::List known_slots(const std::vector<const Tensor*>& tensors) {
    Argument::List list;
    for (const Tensor* tensor : tensors) {
      const auto lifetime = last_seen_.find(tensor->storage_id);
      list.push_back(reference_to(
          lifetime == last_seen_.end() ? std::nullopt : slots_.find(lifetime->second, *tensor)));
    }
    return list;
  }

  /// Returns the operator's instruction if it was lowered already; null otherwise.
  const Instruction* find_lowered(NodeIndex node) {
    for (; found_until_ < program_.instructions.size(); ++found_until_) {
      if (program_.instructions[found_until_].kind == InstructionKind::kOp) {
        place_of_.try_emplace(program_.instructions[found_until_].node_id, found_until_);
      }
    }
    const auto found = node == kNoNode ? place_of_.end() : place_of_.find(trace_.nodes[node].id);
    return found == place_of_.end() ? nullptr : &program_.instructions[found->second];
  }

  SlotId read_tensor(const Tensor& tensor, LifetimeId lifetime, std::vector<Instruction>& into) {
    if (lifetime == kNoLifetime) {
      const SlotId slot = slots_.define_wrapped_number(tensor);
      program_.slots[slot].value = python_number_rule(trace_, *reader_);
      return slot;
    }
    last_seen_[tensor.storage_id] = lifetime;
    if (const std::optional<SlotId> slot = slots_.find(lifetime, tensor)) {
      return *slot;
    }
    if (began_outside_.contains(lifetime)) {
      return slots_.define_external(lifetime, tensor);
    }
    const std::optional<SlotId> base = slots_.any(lifetime);
    if (!base) {
      return slots_.define_detached(tensor);
    }
    return make_alias(tensor, lifetime, *base, into);
  }

  /// Adds a view that no operator made: the tensor's layout on the storage of another slot.
  SlotId make_alias(const Tensor& tensor, LifetimeId lifetime, SlotId base,
                    std::vector<Instruction>& into) {
    Instruction alias;
    alias.kind = InstructionKind::kAlias;
    alias.name = "as_strided";
    alias.args = {{Argument::SlotRef{base}}};
    const SlotId slot = slots_.define(lifetime, tensor, kNoNode);
    alias.results = {{Argument::SlotRef{slot}}};
    into.push_back(std::move(alias));
    aliases_ += &into == &program_.instructions ? 1 : 0;
    return slot;
  }

  et_schema::SchemaId schema_id(std::string_view schema) {
    const auto [found, added] =
        schema_ids_.emplace(schema, static_cast<et_schema::SchemaId>(program_.schemas.size()));
    if (added) {
      program_.schemas.emplace_back(schema);
    }
    return found->second;
  }

  const Node* reader_ = nullptr;  ///< the operator whose arguments are being read
  const Trace& trace_;
  const CommCalls& calls_;
  const Flow& flow_;
  const Selected& selected_;
  Groups& groups_;
  et_schema::Program program_;
  SlotTable slots_;
  std::uint64_t aliases_ = 0;
  std::uint64_t graph_allocations_ = 0;
  std::unordered_set<LifetimeId> began_outside_;
  IssuedComms issued_;
  std::unordered_map<std::int64_t, LifetimeId> last_seen_;  ///< by storage id
  std::unordered_map<std::string_view, et_schema::SchemaId> schema_ids_;
  std::unordered_map<std::uint64_t, std::size_t> place_of_;  ///< of operators, by node id
  std::size_t found_until_ = 0;                              ///< instructions in place_of_
};

}  // namespace

et_schema::Program lower(const Trace& trace, const CommCalls& calls, const Flow& flow,
                         const Selected& selected, const std::vector<WorkingLabel>& labels,
                         Groups& groups) {
  return Lowering(trace, calls, flow, selected, groups).lower(labels);
}

}  // namespace understudy::generator
