#include "replayer/run/trial.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <variant>

#include "et_schema/facts/operator_facts.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/open_comms.h"
#include "replayer/device/device.h"
#include "replayer/dispatch/extent.h"
#include "replayer/dispatch/layout.h"
#include "replayer/dispatch/schema_map.h"
#include "replayer/run/run_error.h"
#include "replayer/substitutes/find_substitute.h"
#include "replayer/substitutes/substitutes.h"

namespace understudy::replayer {
namespace {

/// Thrown for an operator that would corrupt memory.
class UnsafeArguments : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

constexpr const char* kDependsOnValues = "its shape depends on values";

bool same_strides(const Slot& recorded, const at::Tensor& tensor) {
  for (std::size_t i = 0; i < recorded.sizes.size(); ++i) {
    if (recorded.sizes[i] > 1 && recorded.strides[i] != tensor.stride(static_cast<int64_t>(i))) {
      return false;
    }
  }
  return true;
}

/// Returns why the shapes of an operator's results depend on its inputs' values: LibTorch tags the
/// operator, or an input is sparse and its number of elements is data. Empty if they do not depend.
std::string data_dependence(const et_schema::Program& program, const Step& step) {
  if (step.handle && step.handle->hasTag(at::Tag::dynamic_output_shape)) {
    return kDependsOnValues;
  }
  bool has_sparse = false;
  for_each_slot(step.source->args,
                [&](SlotId slot) { has_sparse = has_sparse || program.slots[slot].sparse; });
  return has_sparse ? "its shape depends on a sparse tensor's elements" : "";
}

/// Returns the tensors whose values select elements.
std::vector<SlotId> index_slots(const et_schema::Program& program, const Instruction& instruction) {
  using et_schema::Meaning;
  std::vector<SlotId> slots;
  const std::string schema = schema_text(program, instruction);
  for (const et_schema::ArgumentFact& fact :
       et_schema::operator_facts(instruction.name).arguments) {
    const int at = et_schema::argument_index(schema, fact.name);
    const bool is_index = fact.meaning == Meaning::kIndex || fact.meaning == Meaning::kIndexList ||
                          fact.meaning == Meaning::kPlaneIndex || fact.meaning == Meaning::kClass;
    if (is_index && at >= 0) {
      std::ranges::copy(et_schema::slots_of(instruction, static_cast<std::size_t>(at)),
                        std::back_inserter(slots));
    }
  }
  return slots;
}

}  // namespace

Trial::Trial(Decisions& decisions, Machine& machine, Externals& externals, backends::Job& job,
             const std::vector<BoundGroup>& groups, bool continue_on_error,
             et_schema::CommOrder order, c10::Device device, Monitor monitor)
    : decisions_(decisions),
      machine_(machine),
      externals_(externals),
      job_(job),
      groups_(groups),
      continue_on_error_(continue_on_error),
      order_(std::move(order)),
      device_(device),
      monitor_(std::move(monitor)) {}

TrialResult Trial::run() {
  bool again = true;
  while (again) {
    const std::optional<double> first = result_.first_iteration_ms;
    result_ = {};
    changed_ = false;
    makers_.assign(decisions_.program().slots.size(), nullptr);
    result_.program = bind_program(decisions_, groups_, order_);
    machine_.connect(result_.program, device_);
    monitor_.progress({Phase::kTensors});
    externals_.ensure(result_.program);
    if (first) {
      externals_.restore();
    }
    externals_.place(machine_.slots(), machine_.given());
    machine_.prime(result_.program);
    const auto begin = std::chrono::steady_clock::now();
    if (!first) {
      first_start_ = begin;
    }
    // The first launch of a kernel may load it, and loading can wait for the device. A collective
    // in flight waits for the other ranks. Both together would wait for ever.
    machine_.set_blocking(!device_.is_cpu());
    run_steps(result_.program);
    machine_.set_blocking(false);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    result_.first_iteration_ms = first.value_or(time.count());
    const std::vector<std::string> all = job_.all_gather_text(changed_ ? "again" : "done");
    again = std::find(all.begin(), all.end(), "again") != all.end();
  }
  return std::move(result_);
}

void Trial::run_steps(BoundProgram& bound) {
  for (Step& step : bound.steps) {
    if (&bound == &result_.program) {  // not a body that replaces an operator
      monitor_.progress({Phase::kTrial, static_cast<std::size_t>(&step - bound.steps.data()),
                         bound.steps.size()});
    }
    job_.note_progress();
    if (!bound.states.empty() && &step == &bound.steps[bound.states_at]) {
      // The original's optimizers made their states at this point of the first step. Allocating
      // them here gives the same memory layout.
      externals_.ensure_states(bound);
      externals_.place(machine_.slots(), machine_.given());
      machine_.prime(bound);
    }
    if (step.kind == StepKind::kCall || step.kind == StepKind::kSubstitute) {
      attempt(bound, step);
      machine_.drop_kept(bound, step);
    } else {
      try {
        machine_.perform(bound, step);
        // Not the whole device: other ranks may not have reached a send yet.
        synchronize_stream(device_);
      } catch (const c10::Error& error) {
        refuse_lost_device(step, error);
        throw step_error(decisions_.program(), step, error);
      }
    }
    machine_.drop(bound, step);
  }
}

void Trial::attempt(BoundProgram& bound, Step& step) {
  try {
    call(bound, step);
  } catch (const et_schema::Error&) {
    throw;
  } catch (const std::exception& failure) {
    refuse_lost_device(step, failure);
    machine_.clear(bound, step);
    // Libraries' operators may take indices that others computed from values drawn at random.
    const bool is_unsafe = dynamic_cast<const UnsafeArguments*>(&failure) != nullptr &&
                           step.source->name.starts_with("aten::");
    if (is_unsafe || !call_with_zeros(bound, step)) {
      step_down(step, failure);
      changed_ = true;
      replace(bound, step);
      return;
    }
  }
  const auto checked = std::make_pair(result_.outputs_checked, result_.output_mismatches);
  const std::size_t listed = result_.mismatches.size();
  if (const Difference found = check_outputs(step); found.any() && find_other_way(step, found)) {
    std::tie(result_.outputs_checked, result_.output_mismatches) = checked;
    result_.mismatches.resize(listed);
    machine_.clear(bound, step);
    changed_ = true;
    replace(bound, step);
    return;
  }
  machine_.store(bound, step);
  machine_.clear(bound, step);
  note_makers(*step.source);
}

void Trial::call(BoundProgram& bound, Step& step) {
  machine_.build<true>(bound, step);
  machine_.refuse_outside(step);
  guard_arguments(step);
  bool is_watched = step.handle && takes_layout(step.handle->schema());
  is_watched = is_watched || has_described(machine_.stack());
  machine_.call(bound, step);
  if (has_nested(machine_.stack())) {
    throw std::runtime_error("it gives a nested tensor, which no benchmark can hold");
  }
  machine_.refuse_outside(step);
  step.is_watched = is_watched || has_described(machine_.stack());
  synchronize_stream(device_);  // a device reports errors only at a synchronisation
}

bool Trial::call_with_zeros(BoundProgram& bound, Step& step) {
  std::vector<SlotId> made;
  for (const SlotId slot : index_slots(decisions_.program(), *step.source)) {
    if (makers_[slot] != nullptr && !decisions_.is_pinned(*makers_[slot])) {
      made.push_back(slot);
    }
  }
  if (made.empty()) {
    return false;
  }
  for (const SlotId slot : made) {
    machine_.slots()[slot].zero_();  // until the end of this pass
  }
  try {
    call(bound, step);
  } catch (const et_schema::Error&) {
    throw;
  } catch (const std::exception& failure) {
    refuse_lost_device(step, failure);
    machine_.clear(bound, step);
    return false;  // the values were not the reason
  }
  for (const SlotId slot : made) {
    decisions_.pin(*makers_[slot], fmt::format("its numbers lie outside of what {} picks from",
                                               et_schema::without_overload(step.source->name)));
  }
  changed_ = true;
  return true;
}

void Trial::note_makers(const Instruction& instruction) {
  const std::vector<SlotId> arguments = et_schema::slots_in(instruction.args);
  et_schema::for_each_slot(instruction.results, [&](SlotId slot) {
    if (std::ranges::find(arguments, slot) == arguments.end()) {
      makers_[slot] = &instruction;
    }
  });
}

void Trial::refuse_lost_device(const Step& step, const std::exception& failure) const {
  try {
    synchronize_stream(device_);
  } catch (const std::exception&) {
    throw lost_device_error(decisions_.program(), step, failure, device_text(device_));
  }
}

bool Trial::find_other_way(const Step& step, const Difference& found) {
  // Other values do not change the dtype, or make a missing tensor appear.
  if (found.in_kind && decisions_.use_body(*step.source)) {
    return true;
  }
  std::string why = data_dependence(decisions_.program(), step);
  if (!why.empty()) {
    return decisions_.pin(*step.source, std::move(why));
  }
  if (found.in_kind) {
    return false;
  }
  // repeat_interleave's shape depends on values, but LibTorch tags only an operator that it calls,
  // which a trace may lack.
  const bool repeats = step.source->name == "aten::repeat_interleave.self_Tensor";
  return decisions_.use_body(*step.source) ||
         (repeats && decisions_.pin(*step.source, kDependsOnValues));
}

/// Runs an operator's replacement in its place in the outer program.
void Trial::replace(const BoundProgram& bound, const Step& step) {
  const std::vector<at::Tensor>& slots = machine_.slots();
  BindScope scope;
  scope.instructions = std::span(step.source, 1);
  scope.available.resize(slots.size());
  for (SlotId slot = 0; slot < slots.size(); ++slot) {
    scope.available[slot] = slots[slot].defined();
  }
  scope.needed = scope.available;
  for_each_slot(step.source->results, [&](SlotId slot) { scope.needed[slot] = true; });
  BoundProgram body = bind_program(decisions_, scope, groups_, order_);
  externals_.ensure(body);
  externals_.place(machine_.slots(), machine_.given());
  machine_.prime(body);
  run_steps(body);
  // Releases results that the outer program does not read.
  const auto is_stored = [&](SlotId slot) {
    const auto begin = bound.stored.begin() + step.stored.begin;
    const auto end = bound.stored.begin() + step.stored.end;
    return std::any_of(begin, end, [&](const StoredResult& kept) { return kept.slot == slot; });
  };
  for_each_slot(step.source->results, [&](SlotId slot) {
    if (!scope.available[slot] && !is_stored(slot)) {
      machine_.slots()[slot].reset();
    }
  });
}

void Trial::step_down(const Step& step, const std::exception& failure) {
  const Instruction& instruction = *step.source;
  if (is_out_of_memory(failure)) {
    throw step_error(decisions_.program(), step, failure);
  }
  if (decisions_.step_down(instruction)) {
    return;
  }
  // A row of the operator map may reject a call.
  if (!continue_on_error_ && !decisions_.of(instruction).mapped) {
    throw step_error(decisions_.program(), step, failure);
  }
  decisions_.drop(instruction, "it failed: " + cause_of(failure));
}

void Trial::guard_arguments(Step& step) {
  std::vector<std::string> names;
  std::string op;
  if (step.kind == StepKind::kCall) {
    names = argument_names(step.handle->schema());
    op = toString(step.handle->operator_name());
  } else if (step.source->kind == InstructionKind::kOp) {
    names = parse_recorded_schema(schema_text(decisions_.program(), *step.source)).arguments;
    op = step.source->name;
  } else {
    return;
  }
  ArgumentCheck check = argument_check(op, names);
  if (const auto problem = check ? check(machine_.stack()) : std::nullopt) {
    throw UnsafeArguments(*problem);
  }
  if (device_.is_cpu()) {  // a device would have to wait
    step.check = std::move(check);
  }
  if (externals_.has_mapped()) {
    externals_.seed(table_reach(op, names, machine_.stack()));
  }
}

Trial::Difference Trial::check_outputs(const Step& step) {
  const Instruction& instruction = *step.source;
  Difference all;
  if (instruction.kind != InstructionKind::kOp) {
    return all;
  }
  const auto add = [&](Difference one) {
    all.in_kind = all.in_kind || one.in_kind;
    all.in_shape = all.in_shape || one.in_shape;
  };
  const torch::jit::Stack& stack = machine_.stack();
  const c10::IValue nothing;
  for (std::size_t i = 0; i < instruction.results.size(); ++i) {
    const c10::IValue& value = i < stack.size() ? stack[i] : nothing;
    const auto* list = std::get_if<Argument::List>(&instruction.results[i].value);
    if (list == nullptr) {
      add(check(step, instruction.results[i], value));
      continue;
    }
    for (std::size_t k = 0; k < list->size(); ++k) {
      const bool there = value.isTensorList() && k < value.toTensorList().size();
      add(check(step, (*list)[k], there ? c10::IValue(value.toTensorList().get(k)) : nothing));
    }
  }
  return all;
}

Trial::Difference Trial::check(const Step& step, const Argument& recorded,
                               const c10::IValue& value) {
  const auto* reference = std::get_if<Argument::SlotRef>(&recorded.value);
  const bool undefined = std::holds_alternative<Argument::Undefined>(recorded.value);
  if (reference == nullptr && !undefined) {
    return {};
  }
  ++result_.outputs_checked;
  const at::Tensor tensor = value.isTensor() ? value.toTensor() : at::Tensor();
  if (undefined || !tensor.defined()) {
    if (undefined != !tensor.defined()) {
      const std::string expected =
          undefined ? "undefined" : describe(decisions_.program().slots[reference->id]);
      note(step, "undefined", expected, describe(tensor));
    }
    return {.in_kind = undefined != !tensor.defined()};
  }
  const Slot& slot = decisions_.program().slots[reference->id];
  if (tensor.scalar_type() != to_scalar_type(slot.dtype)) {
    note(step, "dtype", std::string(to_string(slot.dtype)),
         std::string(to_string(static_cast<et_schema::DType>(tensor.scalar_type()))));
    return {.in_kind = true};
  }
  if (decisions_.is_pinned(*step.source)) {
    return {};  // later instructions get the recorded shape
  }
  if (tensor.sizes() != at::IntArrayRef(slot.sizes)) {
    note(step, "shape", fmt::format("[{}]", fmt::join(slot.sizes, ", ")),
         fmt::format("[{}]", fmt::join(tensor.sizes(), ", ")));
    return {.in_shape = true};
  }
  if (slot.strides_recorded && !slot.sparse && tensor.layout() == at::kStrided &&
      !same_strides(slot, tensor)) {
    note(step, "stride", fmt::format("[{}]", fmt::join(slot.strides, ", ")),
         fmt::format("[{}]", fmt::join(tensor.strides(), ", ")));
  }
  return {};
}

void Trial::note(const Step& step, std::string field, std::string expected, std::string got) {
  ++result_.output_mismatches;
  if (result_.mismatches.size() < kMostMismatches) {
    result_.mismatches.push_back({step.source->node_id, step.source->name, std::move(field),
                                  std::move(expected), std::move(got)});
  }
}

}  // namespace understudy::replayer
