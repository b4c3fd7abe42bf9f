#include "hooks.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <variant>

#include "replayer/decisions.h"
#include "replayer/device.h"
#include "replayer/values.h"

namespace understudy::replayer {
namespace {

using et_schema::Argument;
using et_schema::SlotId;
using Nanoseconds = std::chrono::duration<double, std::nano>;
using Seconds = std::chrono::duration<double>;

/// Operators whose results are not theirs to answer for: views show what others wrote, and fresh
/// memory holds anything.
bool writes_results(const Step& step) {
  const std::string_view name = base_name(step.source->name);
  if (name.find("empty") != std::string_view::npos ||
      name.find("resize") != std::string_view::npos) {
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
  std::nth_element(costs.begin(), costs.begin() + kReadings / 2, costs.end());
  return costs[kReadings / 2];
}

ProfileHook::ProfileHook(const BoundProgram& program, c10::Device device)
    : first_(program.steps.data()),
      device_(device),
      steps_(program.steps.size()),
      calls_(program.steps.size()) {}

void ProfileHook::built(const Step&) {
  const Clock::time_point now = Clock::now();
  around_ns_ += Nanoseconds(now - last_).count();
  last_ = now;
}

void ProfileHook::called(const Step& step, const torch::jit::Stack&) {
  synchronize(device_);
  const Clock::time_point now = Clock::now();
  calls_[static_cast<std::size_t>(&step - first_)].push_back(Seconds(now - last_).count());
  last_ = Clock::now();
}

void ProfileHook::stored(const Step&) {
  const Clock::time_point now = Clock::now();
  around_ns_ += Nanoseconds(now - last_).count();
}

void ProfileHook::dropped(const Step& step) {
  if (&step == first_ + steps_ - 1) {
    around_.push_back(around_ns_);
    around_ns_ = 0;
  }
  last_ = Clock::now();
}

std::vector<double> ProfileHook::overheads_ns() const {
  constexpr double kIntervals = 2;  // before the call and after it
  const double clock = kIntervals * clock_cost_ns();
  std::vector<double> overheads;
  for (const double around : around_) {
    overheads.push_back(std::max(0.0, around / static_cast<double>(steps_) - clock));
  }
  return overheads;
}

void ScanHook::called(const Step& step, const torch::jit::Stack& stack) {
  if ((step.kind != StepKind::kCall && step.kind != StepKind::kEquivalent) ||
      !writes_results(step)) {
    return;
  }
  const auto& results = step.source->results;
  for (std::size_t i = 0; i < std::min(results.size(), stack.size()); ++i) {
    if (const auto* slot = std::get_if<Argument::SlotRef>(&results[i].value)) {
      if (stack[i].isTensor()) {
        look(slot->id, stack[i].toTensor());
      }
    } else if (const auto* list = std::get_if<Argument::List>(&results[i].value);
               list != nullptr && stack[i].isTensorList()) {
      const auto tensors = stack[i].toTensorList();
      for (std::size_t k = 0; k < std::min(list->size(), tensors.size()); ++k) {
        if (const auto* element = std::get_if<Argument::SlotRef>(&(*list)[k].value)) {
          look(element->id, tensors.get(k));
        }
      }
    }
  }
}

void ScanHook::look(SlotId slot, const at::Tensor& tensor) {
  if (!tensor.defined()) {
    return;
  }
  const ValueHealth found = scan(tensor);
  const int flags =
      (found.nan ? kNan : 0) | (found.inf ? kInf : 0) | (found.subnormal ? kSubnormal : 0);
  health_[slot] = static_cast<std::uint8_t>(health_[slot] | flags);
}

}  // namespace understudy::replayer
