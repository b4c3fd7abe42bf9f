#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include "et_schema/model/operator_call.h"
#include "replayer/bind/bound.h"
#include "replayer/memory/memory.h"
#include "replayer/run/run.h"

namespace understudy::replayer {

/// Calls operators in pairs, beside the program's own call: cold, with none of their tensors in a
/// cache, then warm. Before each cold call other operators run and a core's own cache is swept. So
/// the operator's code, the dispatch tables and the heap's lists are in the last cache alone, as in
/// a step. Without the others, an operator that only makes a view takes a fifth of its time in a
/// step.
class ColdCalls {
 public:
  ColdCalls(Machine& machine, BoundProgram& bound, c10::Device device);

  /// Pairs of a step in a pass. A device's events tell one.
  [[nodiscard]] int pairs() const { return device_.is_cpu() ? 3 : 1; }
  /// Calls a step whose stack is built once untimed, then in pairs: `timed(is_cold, call)` calls
  /// `call()`. Results are released.
  template <typename Timed>
  void run(const Step& step, int pairs, const Timed& timed) {
    const auto call = [&] { machine_.call(bound_, step, kept_); };
    const auto number = static_cast<std::size_t>(&step - bound_.steps.data());
    kept_ = machine_.stack();
    call();
    release(number);
    for (int i = 0; i < pairs; ++i) {
      evict_arguments(step);
      timed(true, call);
      kept_.clear();
      kept_ = machine_.stack();
      timed(false, call);
      release(number);
    }
  }

  /// A host's time of what runs between begin() and end_s(), in seconds; a device's work ends
  /// within it. If other work preempted what uses this thread alone, its CPU time counts instead.
  /// Nothing else may stand between a call and end_s(): after an eviction each line of code and
  /// data that it touches takes as long as a tenth of a view.
  void begin();
  [[nodiscard]] double end_s() const;

  /// The warm calls, by step, one entry per pass.
  std::vector<std::vector<double>> warm_s;
  std::vector<std::vector<double>> warm_device_ms;
  /// By step: the results, of instructions that do not tell theirs.
  std::vector<std::vector<et_schema::TensorLayout>> outputs;

 private:
  /// This thread's CPU time, and its number of preemptions.
  struct CpuUse {
    double s = 0;
    long preemptions = 0;
  };
  [[nodiscard]] static CpuUse cpu_use();
  void evict_arguments(const Step& step);
  void run_others();
  void release(std::size_t step);

  Machine& machine_;
  BoundProgram& bound_;
  c10::Device device_;
  bool is_alone_;
  UncountedAllocations uncounted_;
  torch::jit::Stack kept_;
  std::vector<std::pair<Step, torch::jit::Stack>> others_;
  at::Tensor swept_;  ///< larger than the caches that an eviction does not reach
  CpuUse before_;
  std::chrono::steady_clock::time_point begin_;
};

/// Returns true for operators and their substitutes, if there are cold calls: `cold` is not null.
[[nodiscard]] inline bool calls_cold(const ColdCalls* cold, const Step& step) {
  return cold != nullptr && (step.kind == StepKind::kCall || step.kind == StepKind::kSubstitute);
}

/// Visits the tensors of a value: itself, or those of a list.
template <typename Visitor>
void for_each_tensor(const c10::IValue& value, Visitor&& visit) {
  if (value.isTensor()) {
    visit(value.toTensor());
  } else if (value.isTensorList()) {
    std::ranges::for_each(value.toTensorVector(), visit);
  }
}

/// Evicts memory from all caches, so that the next access reads main memory, while code and other
/// data stay cached.
void evict(const void* memory, std::size_t bytes);

/// Evicts a tensor's memory from the caches, unless it is larger than caches and evicts itself.
void evict_tensor(const at::Tensor& tensor);

}  // namespace understudy::replayer
