#include "sustained.h"

#include <algorithm>
#include <chrono>

#include "cold_calls.h"

namespace understudy::replayer {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Returns how many calls of so long make a stretch. More would fill a device's queue, which makes
/// the host wait.
std::size_t calls_of(double call_s) {
  constexpr double kStretchS = 0.02;
  constexpr double kMost = 100;
  return static_cast<std::size_t>(std::clamp(kStretchS / std::max(call_s, 1e-9), 1.0, kMost));
}

}  // namespace

SustainedHook::SustainedHook(Machine& machine, BoundProgram& bound, c10::Device device,
                             double seconds, std::function<void(std::size_t)> begins)
    : host_s(bound.steps.size()),
      device_ms(bound.steps.size()),
      machine_(machine),
      bound_(bound),
      device_(device),
      seconds_(seconds),
      begins_(std::move(begins)) {}

SustainedHook::Copies SustainedHook::changed_by(const Step& step, const torch::jit::Stack& stack) {
  Copies copies;
  if (!step.handle) {
    return copies;  // a substitute's arguments are not told apart
  }
  const auto& arguments = step.handle->schema().arguments();
  for (std::size_t i = 0; i < std::min(arguments.size(), stack.size()); ++i) {
    const c10::AliasInfo* const alias = arguments[i].alias_info();
    if (alias != nullptr && alias->isWrite()) {
      for_each_tensor(stack[i], [&](const at::Tensor& tensor) {
        if (tensor.defined() && tensor.layout() == at::kStrided) {
          copies.emplace_back(tensor, tensor.clone());
        }
      });
    }
  }
  return copies;
}

double SustainedHook::stretch(const Step& step, const torch::jit::Stack& arguments,
                              const Copies& changed, std::size_t calls, DeviceTimer& timer) {
  for (const auto& [tensor, content] : changed) {
    tensor.copy_(content);
  }
  torch::jit::Stack kept;
  timer.begin(0);
  const Clock::time_point begin = Clock::now();
  for (std::size_t i = 0; i < calls; ++i) {
    kept = arguments;
    machine_.call(bound_, step, kept);
    kept.clear();
  }
  const double spent_s = seconds_since(begin);
  timer.end(0);
  return spent_s;
}

void SustainedHook::built(const Step& step) {
  if (step.kind != StepKind::kCall && step.kind != StepKind::kSubstitute) {
    return;
  }
  const auto number = static_cast<std::size_t>(&step - bound_.steps.data());
  begins_(number);
  const torch::jit::Stack arguments = machine_.stack();
  const Copies changed = changed_by(step, arguments);
  DeviceTimer timer(device_, 1);
  static_cast<void>(stretch(step, arguments, changed, 1, timer));  // loads what it needs
  static_cast<void>(timer.collect());
  const double host_call_s = stretch(step, arguments, changed, 1, timer);
  const double call_s = std::max(host_call_s, timer.collect().front().value_or(0) / 1e3);
  const std::size_t calls = calls_of(call_s);
  static_cast<void>(stretch(step, arguments, changed, calls, timer));
  timer.end_rehearsal();
  for (const Clock::time_point begin = Clock::now();
       host_s[number].empty() || seconds_since(begin) < seconds_;) {
    const double spent_s = stretch(step, arguments, changed, calls, timer);
    const double on_device_ms = timer.collect().front().value_or(0);
    if (seconds_since(begin) >= seconds_ / 2) {
      host_s[number].push_back(spent_s / static_cast<double>(calls));
      device_ms[number].push_back(on_device_ms / static_cast<double>(calls));
    }
  }
  for (const auto& [tensor, content] : changed) {
    tensor.copy_(content);
  }
}

}  // namespace understudy::replayer
