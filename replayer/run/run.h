#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "et_schema/model/program.h"
#include "replayer/backends/interface/communicator.h"
#include "replayer/bind/bound.h"
#include "replayer/options/monitor.h"
#include "replayer/run/crash.h"

namespace understudy::replayer {

/// A hook that does nothing; with it, hooks add no cost to the run loop.
struct NoHook {
  void built(const Step&) {}                             ///< the stack is ready
  void called(const Step&, const torch::jit::Stack&) {}  ///< the results are on the stack
  void stored(const Step&) {}                            ///< the results are in their slots
  void dropped(const Step&) {}                           ///< dead slots are released
};

/// The state that a bound program runs on: slots, stack and open communications.
class Machine {
 public:
  Machine(const et_schema::Program& program, backends::Communicator& communicator);
  /// Makes another stack over the slots of `owner`, for steps that run on their own thread.
  explicit Machine(Machine& owner);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// By slot. Externals must be placed here before a run; a run leaves intermediates empty.
  std::vector<at::Tensor>& slots() { return slots_; }
  /// By slot: the tensors of kGive steps.
  std::vector<at::Tensor>& given() { return given_; }

  /// Runs one iteration. Does not catch operators' exceptions; see failed_step().
  template <typename Hook>
  void run(BoundProgram& program, Hook& hook);
  void run(BoundProgram& program) {
    NoHook hook;
    run(program, hook);
  }
  template <typename Hook>
  void run_step(BoundProgram& program, const Step& step, Hook& hook);
  /// Returns the step that was running when run() threw.
  [[nodiscard]] const Step* failed_step() const { return current_; }
  void set_failed_step(const Step* step) { current_ = step; }
  /// From now on, a step throws Interrupted if `signal` is not 0; the slots must not be used for a
  /// run after that. If null, no step throws it.
  void set_stop_signal(const std::atomic<int>* signal) { stop_signal_ = signal; }
  /// Ends a wait of another thread in the backend.
  void interrupt() { communicator_.interrupt(); }

  /// The parts of a step. build() with kKeep copies slots that it would otherwise move; drop_kept()
  /// then releases them.
  template <bool kKeep>
  void build(BoundProgram& program, const Step& step);
  void call(BoundProgram& program, const Step& step) { call(program, step, stack_); }
  /// Calls the step with the arguments on another stack.
  void call(BoundProgram& program, const Step& step, torch::jit::Stack& stack);
  void store(const BoundProgram& program, const Step& step);
  void drop(const BoundProgram& program, const Step& step);
  void drop_kept(const BoundProgram& program, const Step& step);
  [[nodiscard]] torch::jit::Stack& stack() { return stack_; }
  /// Throws Error (bad input) if a tensor on the stack exceeds its storage.
  void refuse_outside(const Step& step) const;
  /// Empties the stack and its lists. Must be called after results are stored, or after a call
  /// threw.
  void clear(BoundProgram& program, const Step& step);
  /// Runs a step that is not an operator.
  void perform(BoundProgram& program, const Step& step);

  /// Makes collectives complete one at a time, so that each can be timed alone: when they start, or
  /// at their turn if that is later. Sends and receives do not change: two ranks that send to each
  /// other before they receive would deadlock if sends blocked.
  void set_blocking(bool blocking) {
    blocking_ = blocking;
    next_turn_ = 0;
  }

  /// Chooses the memory of each communication's buffers: `device` if all its tensors are there and
  /// the communicator supports the communication, else the host. Must be called by all ranks
  /// together after binding. Without it all communications use host memory.
  void connect(BoundProgram& program, c10::Device device);

  /// Sets the list elements that are equal in all calls. Must be called after externals are placed.
  void prime(BoundProgram& program) const;

 private:
  void check_arguments(const Step& step) const {
    check_extents(step);
    if (step.check) [[unlikely]] {
      refuse_unsafe(step);
    }
  }
  void refuse_unsafe(const Step& step) const;
  void check_extents(const Step& step) const {
    if (step.is_watched) [[unlikely]] {
      refuse_outside(step);
    }
  }
  void make_alias(const BoundProgram& program, const Step& step);
  void prepare(BoundComm& comm);
  void start(BoundProgram& program, BoundComm& comm);
  /// Starts a communication, or defers it until its batch is complete.
  void begin(BoundComm& comm);
  void begin_batch();
  void take_turns(BoundProgram& program, BoundComm& here);
  void join(BoundComm& comm);
  void fill_list(BoundProgram& program, const StackEntry& entry);
  void empty_list(SlotList& list);

  const et_schema::Program& program_;
  backends::Communicator& communicator_;
  c10::Device device_{c10::kCPU};
  std::vector<at::Tensor> own_slots_;  ///< empty if another machine owns them
  std::vector<at::Tensor> own_given_;
  std::vector<at::Tensor>& slots_;
  std::vector<at::Tensor>& given_;
  torch::jit::Stack stack_;
  std::vector<BoundComm*> batch_;  ///< deferred
  bool blocking_ = false;
  std::size_t next_turn_ = 0;
  const Step* current_ = nullptr;
  const std::atomic<int>* stop_signal_ = nullptr;
};

/// Returns another tensor of the same memory and layout.
inline at::Tensor another_tensor(const at::Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  return at::Tensor(impl.shallow_copy_and_detach(impl.version_counter(), true));
}

template <bool kKeep>
inline void Machine::build(BoundProgram& program, const Step& step) {
  for (std::uint32_t i = step.entries.begin; i < step.entries.end; ++i) {
    const StackEntry entry = program.entries[i];
    switch (entry.from) {
      case StackEntry::From::kConstant:
        stack_.push_back(program.constants[entry.index]);
        break;
      case StackEntry::From::kSlot:
        stack_.emplace_back(slots_[entry.index]);
        break;
      case StackEntry::From::kLastUse:
        if constexpr (kKeep) {
          stack_.emplace_back(slots_[entry.index]);
        } else {
          stack_.emplace_back(std::move(slots_[entry.index]));
        }
        break;
      case StackEntry::From::kView:
        stack_.emplace_back(another_tensor(slots_[entry.index]));
        break;
      case StackEntry::From::kList:
        fill_list(program, entry);
        break;
    }
  }
}

inline void Machine::call(BoundProgram& program, const Step& step, torch::jit::Stack& stack) {
  const RunningStep running(step);
  if (step.kind == StepKind::kCall) {
    step.handle->callBoxed(stack);
  } else {
    program.substitutes[step.index].call(stack);
  }
}

inline void Machine::store(const BoundProgram& program, const Step& step) {
  for (std::uint32_t i = step.stored.begin; i < step.stored.end; ++i) {
    const StoredResult& result = program.stored[i];
    c10::IValue& value = stack_[result.position];
    if (result.element) {
      slots_[result.slot] = value.toTensorList().get(*result.element);
    } else {
      slots_[result.slot] = std::move(value).toTensor();
    }
  }
}

inline void Machine::clear(BoundProgram& program, const Step& step) {
  stack_.clear();
  for (std::uint32_t i = step.entries.begin; i < step.entries.end; ++i) {
    if (program.entries[i].from == StackEntry::From::kList) {
      empty_list(program.lists[program.entries[i].index]);
    }
  }
}

inline void Machine::drop(const BoundProgram& program, const Step& step) {
  for (std::uint32_t i = step.dropped.begin; i < step.dropped.end; ++i) {
    slots_[program.dropped[i]].reset();
  }
}

template <typename Hook>
inline void Machine::run_step(BoundProgram& program, const Step& step, Hook& hook) {
  current_ = &step;
  if (stop_signal_ != nullptr && stop_signal_->load(std::memory_order_relaxed) != 0) {
    throw Interrupted();
  }
  if (step.kind == StepKind::kCall || step.kind == StepKind::kSubstitute) {
    build<false>(program, step);
    check_arguments(step);
    hook.built(step);
    call(program, step);
    hook.called(step, stack_);
    check_extents(step);
    store(program, step);
    hook.stored(step);
    clear(program, step);
  } else {
    hook.built(step);
    perform(program, step);
    hook.called(step, stack_);
    hook.stored(step);
  }
  drop(program, step);
  hook.dropped(step);
}

template <typename Hook>
void Machine::run(BoundProgram& program, Hook& hook) {
  for (const Step& step : program.steps) {
    run_step(program, step, hook);
  }
  current_ = nullptr;
}

}  // namespace understudy::replayer
