#include "own_threads.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "et_schema/base/spin_pause.h"
#include "et_schema/model/threads.h"

namespace understudy::replayer {
namespace {

using et_schema::Instruction;
using et_schema::SlotId;

/// Thrown on a thread that must stop because another one failed.
struct Stopped : std::runtime_error {
  Stopped() : std::runtime_error("another thread has failed") {}
};

/// Returns the slots that a step touches: on its stack, in its lists, and those that it makes,
/// drops or communicates.
std::vector<SlotId> touched_slots(const BoundProgram& bound, const Step& step) {
  std::vector<SlotId> slots;
  for (std::uint32_t i = step.entries.begin; i < step.entries.end; ++i) {
    const StackEntry& entry = bound.entries[i];
    if (entry.from == StackEntry::From::kList) {
      for (const auto& [position, slot] : bound.lists[entry.index].elements) {
        slots.push_back(slot);
      }
    } else if (entry.from != StackEntry::From::kConstant) {
      slots.push_back(entry.index);
    }
  }
  for (std::uint32_t i = step.stored.begin; i < step.stored.end; ++i) {
    slots.push_back(bound.stored[i].slot);
  }
  for (std::uint32_t i = step.dropped.begin; i < step.dropped.end; ++i) {
    slots.push_back(bound.dropped[i]);
  }
  if (step.kind == StepKind::kAlias || step.kind == StepKind::kGive) {
    slots.push_back(step.index);
  }
  if (step.kind == StepKind::kStart || step.kind == StepKind::kJoin) {
    const BoundComm& comm = bound.comms[step.index];
    slots.insert(slots.end(), comm.inputs.begin(), comm.inputs.end());
    slots.insert(slots.end(), comm.outputs.begin(), comm.outputs.end());
  }
  return slots;
}

/// Returns the thread of each step: its index in `own`, counted from 1; 0 is the caller's thread.
std::vector<std::uint32_t> assign_threads(const BoundProgram& bound,
                                          const std::vector<std::uint64_t>& own) {
  std::vector<std::uint32_t> threads(bound.steps.size(), 0);
  std::uint32_t next = 0;  // a step without a source prepares the step after it
  for (std::size_t i = bound.steps.size(); i-- > 0;) {
    const Step& step = bound.steps[i];
    if (step.kind == StepKind::kStart || step.kind == StepKind::kJoin) {
      continue;
    }
    if (step.source != nullptr) {
      const auto place = std::find(own.begin(), own.end(), step.source->thread);
      next = place == own.end() ? 0 : static_cast<std::uint32_t>(place - own.begin()) + 1;
    }
    threads[i] = next;
  }
  return threads;
}

}  // namespace

std::vector<std::uint64_t> overlapping_threads(const et_schema::Program& program) {
  const std::vector<std::uint64_t> beside = et_schema::recorded_threads(program).beside;
  std::set<std::uint64_t> threads(beside.begin(), beside.end());
  for (const Instruction& instruction : program.instructions) {
    if (instruction.comm) {
      threads.erase(instruction.thread);
    }
  }
  std::vector<std::uint64_t> by_first_use;
  for (const Instruction& instruction : program.instructions) {
    if (threads.erase(instruction.thread) > 0) {
      by_first_use.push_back(instruction.thread);
    }
  }
  return by_first_use;
}

ThreadPlan plan_threads(const et_schema::Program& program, const BoundProgram& bound,
                        const std::vector<std::uint64_t>& own) {
  const std::vector<std::uint32_t> threads = assign_threads(bound, own);
  std::vector<bool> only_read(program.storages.size());
  for (std::size_t storage = 0; storage < program.storages.size(); ++storage) {
    only_read[storage] = program.storages[storage].external;
  }
  const auto is_written = [&](SlotId slot) { only_read[program.slots[slot].storage] = false; };
  std::ranges::for_each(bound.written, is_written);
  for (const BoundComm& comm : bound.comms) {
    std::ranges::for_each(comm.outputs, is_written);
  }
  ThreadPlan plan;
  plan.threads.resize(own.size() + 1);
  // By storage or, where threads only read it, by the view that a step made; and by thread: number
  // of the thread's steps up to and including its latest one on it.
  std::vector<std::vector<std::uint32_t>> touched(program.storages.size() + program.slots.size());
  for (std::size_t i = 0; i < bound.steps.size(); ++i) {
    const std::uint32_t thread = threads[i];
    std::vector<ThreadPlan::Entry>& entries = plan.threads[thread];
    std::vector<std::uint32_t> needed(plan.threads.size(), 0);
    for (const SlotId slot : touched_slots(bound, bound.steps[i])) {
      const et_schema::StorageId storage = program.slots[slot].storage;
      if (only_read[storage] && program.slots[slot].external) {
        continue;
      }
      std::vector<std::uint32_t>& last =
          touched[only_read[storage] ? program.storages.size() + slot : storage];
      last.resize(plan.threads.size(), 0);
      for (std::size_t other = 0; other < last.size(); ++other) {
        needed[other] = std::max(needed[other], other == thread ? 0 : last[other]);
      }
      last[thread] = static_cast<std::uint32_t>(entries.size()) + 1;
    }
    const auto begin = static_cast<std::uint32_t>(plan.barriers.size());
    for (std::uint32_t other = 0; other < needed.size(); ++other) {
      if (needed[other] > 0) {
        plan.barriers.push_back({other, needed[other]});
      }
    }
    entries.push_back(
        {static_cast<std::uint32_t>(i), begin, static_cast<std::uint32_t>(plan.barriers.size())});
  }
  return plan;
}

OwnThreads::OwnThreads(BoundProgram& bound, Machine& machine, const IssueHook& issue,
                       ThreadPlan plan)
    : bound_(bound),
      machine_(machine),
      plan_(std::move(plan)),
      workers_(plan_.threads.size() - 1),
      progress_(std::make_unique<Progress[]>(plan_.threads.size())) {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    workers_[i].machine = std::make_unique<Machine>(machine_);
    workers_[i].hook = std::make_unique<IssueHook>(issue);
    workers_[i].thread = std::thread([this, i] { serve(i + 1); });
  }
}

OwnThreads::~OwnThreads() {
  leaving_ = true;
  ++iteration_;
  iteration_.notify_all();
  for (Worker& worker : workers_) {
    worker.thread.join();
  }
}

std::vector<IssueHook*> OwnThreads::hooks() {
  std::vector<IssueHook*> hooks;
  for (Worker& worker : workers_) {
    hooks.push_back(worker.hook.get());
  }
  return hooks;
}

void OwnThreads::serve(std::size_t thread) {
  // As on the caller's thread: see replay.cpp.
  const at::AutoGradMode grad_mode(true);
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  Worker& worker = workers_[thread - 1];
  for (std::uint64_t seen = 0;;) {
    iteration_.wait(seen);
    seen = iteration_;
    if (leaving_) {
      return;
    }
    try {
      run_thread(thread, *worker.machine, *worker.hook);
    } catch (const Stopped&) {
    } catch (...) {
      fail(*worker.machine);
    }
    --running_;
    running_.notify_all();
  }
}

void OwnThreads::run(IssueHook& issue) {
  for (std::size_t thread = 0; thread < plan_.threads.size(); ++thread) {
    progress_[thread].steps = 0;
  }
  failed_ = false;
  failure_ = nullptr;
  failed_step_ = nullptr;
  running_ = static_cast<std::uint32_t>(workers_.size());
  for (Worker& worker : workers_) {
    worker.hook->follow(issue);
  }
  ++iteration_;
  iteration_.notify_all();
  try {
    run_thread(0, machine_, issue);
  } catch (const Stopped&) {
  } catch (...) {
    fail(machine_);
  }
  for (std::uint32_t running = running_; running > 0; running = running_) {
    running_.wait(running);
  }
  machine_.set_failed_step(failed_step_);
  if (failure_) {
    std::rethrow_exception(failure_);
  }
}

void OwnThreads::fail(const Machine& machine) {
  const std::lock_guard lock(failure_mutex_);
  if (failure_) {
    return;
  }
  failure_ = std::current_exception();
  failed_step_ = machine.failed_step();
  failed_ = true;
  machine_.interrupt();
}

void OwnThreads::run_thread(std::size_t thread, Machine& machine, IssueHook& hook) {
  std::atomic<std::uint32_t>& done = progress_[thread].steps;
  for (const ThreadPlan::Entry& entry : plan_.threads[thread]) {
    for (std::uint32_t i = entry.barriers_begin; i < entry.barriers_end; ++i) {
      wait_for(plan_.barriers[i]);
    }
    if (failed_.load(std::memory_order_relaxed)) {
      throw Stopped();
    }
    machine.run_step(bound_, bound_.steps[entry.step], hook);
    done.store(done.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
}

void OwnThreads::wait_for(const StepBarrier& barrier) const {
  constexpr std::uint32_t kSpins = 2000;  // after that, the other thread may need this core
  const std::atomic<std::uint32_t>& done = progress_[barrier.thread].steps;
  for (std::uint32_t spins = 0; done.load(std::memory_order_acquire) < barrier.steps_done;
       ++spins) {
    if (failed_.load(std::memory_order_relaxed)) {
      throw Stopped();
    }
    if (spins < kSpins) {
      et_schema::spin_pause();
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace understudy::replayer
