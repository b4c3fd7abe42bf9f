#include "hooks.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <variant>

#include "cold_calls.h"
#include "et_schema/base/statistics.h"
#include "et_schema/facts/operator_facts.h"
#include "et_schema/facts/schema_text.h"
#include "replayer/bind/decisions.h"
#include "replayer/device/device.h"
#include "replayer/values/values.h"

namespace understudy::replayer {
namespace {

using et_schema::Argument;
using et_schema::SlotId;
using Nanoseconds = std::chrono::duration<double, std::nano>;
using Seconds = std::chrono::duration<double>;

/// Returns false for operators that do not write all of their results: views, fresh memory, and
/// FSDP's all_gather_copy_in, which writes one rank's part (a collective writes the others).
bool writes_results(const Step& step) {
  const std::string_view name = et_schema::without_overload(step.source->name);
  if (leaves_elements_unwritten(name, 0) || name.ends_with("all_gather_copy_in")) {
    return false;
  }
  if (!step.handle) {
    return true;
  }
  const auto& returns = step.handle->schema().returns();
  return std::none_of(returns.begin(), returns.end(), [](const c10::Argument& result) {
    return result.alias_info() != nullptr && !result.alias_info()->isWrite();
  });
}

}  // namespace

double clock_cost_ns() {
  constexpr int kReadings = 1001;
  std::vector<double> costs;
  costs.reserve(kReadings);
  auto last = std::chrono::steady_clock::now();
  for (int i = 0; i < kReadings; ++i) {
    const auto now = std::chrono::steady_clock::now();
    costs.push_back(Nanoseconds(now - last).count());
    last = now;
  }
  return *et_schema::median(std::move(costs));
}

ProfileHook::ProfileHook(const BoundProgram& program, c10::Device device, IssueHook* issue,
                         ColdCalls* cold)
    : program_(program),
      first_(program.steps.data()),
      device_(device),
      issue_(issue),
      cold_(cold),
      calls_(program.steps.size()),
      around_(program.steps.size()),
      bare_copies_(program.steps.size()),
      ready_(program.steps.size()) {
  // One tensor is used for all: its copy costs the same, and no tensor is kept alive.
  const at::Tensor tensor = at::empty({0});
  for (const Step& step : program.steps) {
    for (std::uint32_t i = step.entries.begin; i < step.entries.end; ++i) {
      const StackEntry& entry = program.entries[i];
      const bool constant = entry.from == StackEntry::From::kConstant;
      const bool list = entry.from == StackEntry::From::kList;
      ready_[index(step)].push_back(constant ? program.constants[entry.index]
                                    : list   ? program.lists[entry.index].boxed
                                             : c10::IValue(tensor));
    }
  }
}

void ProfileHook::begin_iteration(bool bare) {
  bare_ = bare;
  if (bare_ && !ready_.empty()) {
    copy_ready_stack(0);
  }
  last_ = Clock::now();
}

void ProfileHook::copy_ready_stack(std::size_t step) {
  const Clock::time_point begin = Clock::now();
  stack_ = ready_[step];
  bare_copies_[step].push_back(Nanoseconds(Clock::now() - begin).count());
  stack_.clear();
}

void ProfileHook::built(const Step& step) {
  const Clock::time_point now = Clock::now();
  building_ns_ = Nanoseconds(now - last_).count();
  if (calls_cold(cold_, step)) {
    cold_->run(step, cold_->pairs(), [&](bool is_cold, const auto& call) {
      cold_->begin();
      call();
      const double spent_s = cold_->end_s();
      (is_cold ? calls_ : cold_->warm_s)[index(step)].push_back(spent_s);
    });
  }
  if (issue_ != nullptr) {
    issue_->built(step);
  }
  last_ = issue_ == nullptr && cold_ == nullptr ? now : Clock::now();
}

void ProfileHook::called(const Step& step, const torch::jit::Stack& stack) {
  // A message in flight ends when the other rank has come; the call's time includes that.
  synchronize_stream(device_);
  if (issue_ != nullptr) {
    issue_->called(step, stack);
  }
  const Clock::time_point now = Clock::now();
  if (!bare_ && !calls_cold(cold_, step)) {
    calls_[index(step)].push_back(own_seconds(step, Seconds(now - last_).count()));
  }
  last_ = Clock::now();
}

double ProfileHook::own_seconds(const Step& step, double seconds) const {
  if (step.kind == StepKind::kStart) {
    return seconds - program_.comms[step.index].others_s;
  }
  return step.kind == StepKind::kJoin ? seconds + program_.comms[step.index].elsewhere_s : seconds;
}

void ProfileHook::stored(const Step& step) {
  const double storing_ns = Nanoseconds(Clock::now() - last_).count();
  if (!bare_) {
    around_[index(step)].push_back(building_ns_ + storing_ns);
  }
}

void ProfileHook::dropped(const Step& step) {
  const std::size_t next = index(step) + 1;
  if (bare_ && next < ready_.size()) {
    copy_ready_stack(next);
  }
  last_ = Clock::now();
}

LoopOverhead loop_overhead(double difference_ns, double clock_ns) {
  const bool is_told = std::isfinite(difference_ns) && difference_ns >= clock_ns;
  return {is_told ? std::optional(difference_ns) : std::nullopt, clock_ns};
}

void ProfileHook::keep(std::size_t count) {
  for (auto* samples : {&calls_, &around_}) {
    for (std::vector<double>& of_step : *samples) {
      of_step.resize(std::min(of_step.size(), count));
    }
  }
}

LoopOverhead ProfileHook::overhead() const {
  // The run loop's part consists of two intervals, before and after the call; the bare loop's of
  // one.
  const double clock = clock_cost_ns();
  double sum = 0;
  for (std::size_t i = 0; i < around_.size(); ++i) {
    sum += et_schema::median(around_[i]).value_or(0) -
           et_schema::median(bare_copies_[i]).value_or(0) - clock;
  }
  return loop_overhead(around_.empty() ? 0 : sum / static_cast<double>(around_.size()), clock);
}

void ScanHook::called(const Step& step, const torch::jit::Stack& stack) {
  if (step.kind != StepKind::kCall && step.kind != StepKind::kSubstitute) {
    return;
  }
  if (!writes_results(step)) {
    // A view, or the copy that replaces it if strides allow none.
    const bool passes_on = is_asked_for_inf(*step.source);
    for_each_slot(step.source->results, [&](SlotId slot) {
      const et_schema::StorageId storage = program_.slots[slot].storage;
      holds_recorded_inf_[storage] = holds_recorded_inf_[storage] || passes_on;
    });
    return;
  }
  const auto& results = step.source->results;
  for (std::size_t i = 0; i < std::min(results.size(), stack.size()); ++i) {
    if (const auto* slot = std::get_if<Argument::SlotRef>(&results[i].value)) {
      if (stack[i].isTensor() && !leaves_elements_unwritten(step.source->name, i)) {
        find(step, slot->id, stack[i].toTensor());
      }
    } else if (const auto* list = std::get_if<Argument::List>(&results[i].value);
               list != nullptr && stack[i].isTensorList()) {
      const auto tensors = stack[i].toTensorList();
      for (std::size_t k = 0; k < std::min(list->size(), tensors.size()); ++k) {
        if (const auto* element = std::get_if<Argument::SlotRef>(&(*list)[k].value)) {
          find(step, element->id, tensors.get(k));
        }
      }
    }
  }
}

void ScanHook::find(const Step& step, SlotId slot, const at::Tensor& tensor) {
  holds_recorded_inf_[program_.slots[slot].storage] = is_asked_for_inf(*step.source);
  const std::uint8_t flags = flags_of(slot, tensor);
  holds_recorded_inf_[program_.slots[slot].storage] = (flags & kRecordedInf) != 0;
  const auto added = static_cast<std::uint8_t>(flags & ~health_[slot] & kUnhealthy);
  health_[slot] = static_cast<std::uint8_t>(health_[slot] | flags);
  if (added != 0 && findings_.size() < kMostFindings) {
    const char* kind = (added & kNan) != 0 ? "nan" : (added & kInf) != 0 ? "inf" : "subnormal";
    findings_.push_back({step.source->node_id, step.source->name, kind});
  }
}

void ScanHook::look(SlotId slot, const at::Tensor& tensor) {
  health_[slot] = static_cast<std::uint8_t>(health_[slot] | flags_of(slot, tensor));
}

std::uint8_t ScanHook::flags_of(SlotId slot, const at::Tensor& tensor) const {
  if (!tensor.defined()) {
    return 0;
  }
  const ValueHealth found = scan(tensor);
  const std::uint8_t inf = holds_recorded_inf_[program_.slots[slot].storage] ? kRecordedInf : kInf;
  return static_cast<std::uint8_t>((found.nan ? kNan : 0) | (found.inf ? inf : 0) |
                                   (found.subnormal ? kSubnormal : 0));
}

bool ScanHook::is_asked_for_inf(const et_schema::Instruction& instruction) const {
  bool reads = instruction.name == "aten::_ctc_loss";  // takes logarithms of impossible paths
  const bool is_logarithm = et_schema::operator_facts(instruction.name).is_logarithm;
  for_each_slot(instruction.args, [&](SlotId slot) {
    const et_schema::StorageId storage = program_.slots[slot].storage;
    reads = reads || holds_recorded_inf_[storage] ||
            (is_logarithm && program_.storages[storage].zeros > 0);
  });
  return reads || std::any_of(instruction.args.begin(), instruction.args.end(),
                              [](const Argument& argument) {
                                const auto* number = std::get_if<double>(&argument.value);
                                return number != nullptr && std::isinf(*number);
                              });
}

}  // namespace understudy::replayer
