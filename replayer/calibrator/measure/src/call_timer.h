#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <chrono>
#include <vector>

#include "et_schema/formats/operator_times/operator_times.h"
#include "replayer/counters/source.h"
#include "replayer/run/run.h"

namespace understudy::calibrator {

/// This thread's CPU time, and its number of preemptions.
struct CpuUse {
  double ns = 0;
  long preemptions = 0;

  [[nodiscard]] static CpuUse now();
};

/// Evicts a tensor's memory from the caches, unless it is larger than caches and evicts itself.
void evict_tensor(const at::Tensor& tensor);

/// Times the call alone, as a replay's timing passes do. If other work preempted a call that uses
/// only this thread, the call's CPU time counts instead.
class CallTimer : public replayer::NoHook {
 public:
  explicit CallTimer(int threads) : is_alone_(threads == 1) {}

  void built(const replayer::Step&);
  void called(const replayer::Step&, const torch::jit::Stack& stack);

  /// Appends the results of the next call to `outputs`.
  void note_outputs(std::vector<et_schema::TensorLayout>& outputs) { outputs_ = &outputs; }
  /// Sets whether the results of calls are evicted from the caches.
  void set_evicts(bool evicts) { evicts_ = evicts; }
  [[nodiscard]] double ns() const { return ns_; }

 private:
  using Clock = std::chrono::steady_clock;

  bool is_alone_;
  CpuUse before_;
  Clock::time_point begin_;
  double ns_ = 0;
  bool evicts_ = false;
  std::vector<et_schema::TensorLayout>* outputs_ = nullptr;
};

/// Counts a call, instead of timing it.
class CallCounter : public replayer::NoHook {
 public:
  explicit CallCounter(replayer::CounterSource& source) : source_(source) {
    static_cast<void>(source.prepare(source.call_names(), 1));
  }

  void built(const replayer::Step&) { source_.begin_range(0); }
  void called(const replayer::Step&, const torch::jit::Stack&) { source_.end_range(); }
  [[nodiscard]] et_schema::Counters take() { return source_.take().front(); }

 private:
  replayer::CounterSource& source_;
};

}  // namespace understudy::calibrator
