#include "own_threads.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "et_schema/support/spin_pause.h"

namespace understudy::replayer {
namespace {

using et_schema::Instruction;
using et_schema::SlotId;

/// Below this share of its busy time a thread's overlap is what clocks and wrappers make of a
/// caller that waits.
constexpr double kLeastOverlap = 0.1;

/// Raised on a thread that must stop because another one has failed.
struct Stopped : std::runtime_error {
  Stopped() : std::runtime_error("another thread has failed") {}
};

struct Interval {
  std::int64_t begin_ns;
  std::int64_t end_ns;
};

bool is_communication(const Instruction& instruction) {
  return instruction.comm.has_value();
}

/// Nanoseconds of `mine` during which one of `others` ran as well; both in order of begin.
std::int64_t overlap_ns(const std::vector<Interval>& mine, const std::vector<Interval>& others) {
  std::int64_t sum_ns = 0;
  std::size_t first = 0;
  for (const Interval& interval : mine) {
    std::int64_t seen_ns = interval.begin_ns;
    while (first < others.size() && others[first].end_ns <= interval.begin_ns) {
      ++first;
    }
    for (std::size_t i = first; i < others.size() && others[i].begin_ns < interval.end_ns; ++i) {
      const std::int64_t begin_ns = std::max(seen_ns, others[i].begin_ns);
      const std::int64_t end_ns = std::min(interval.end_ns, others[i].end_ns);
      sum_ns += std::max<std::int64_t>(0, end_ns - begin_ns);
      seen_ns = std::max(seen_ns, end_ns);
    }
  }
  return sum_ns;
}

/// The slots that a step touches: on its stack, in its lists, those that it makes, drops or passes
/// on.
std::vector<SlotId> touched_slots(const BoundProgram& bound, const Step& step) {
  std::vector<SlotId> slots;
  for (std::uint32_t i = step.entries.begin; i < step.entries.end; ++i) {
    const StackEntry& entry = bound.entries[i];
    if (entry.from == StackEntry::From::kSlot || entry.from == StackEntry::From::kLastUse) {
      slots.push_back(entry.index);
    } else if (entry.from == StackEntry::From::kList) {
      for (const auto& [position, slot] : bound.lists[entry.index].elements) {
        slots.push_back(slot);
      }
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

/// By step: the place in `own`, counted from 1, of the thread that it runs on; 0 is the caller's.
std::vector<std::uint32_t> assign_threads(const BoundProgram& bound,
                                          const std::vector<std::uint64_t>& own) {
  std::vector<std::uint32_t> threads(bound.steps.size(), 0);
  std::uint32_t next = 0;  // what has no source of its own prepares the step behind it
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
  std::map<std::uint64_t, std::vector<Interval>> busy;
  std::set<std::uint64_t> communicating;
  std::vector<std::uint64_t> order;
  for (const Instruction& instruction : program.instructions) {
    if (is_communication(instruction)) {
      communicating.insert(instruction.thread);
    }
    if (!instruction.timing) {
      continue;
    }
    const et_schema::Timing& timing = *instruction.timing;
    const auto [place, is_new] = busy.try_emplace(instruction.thread);
    place->second.push_back({timing.start_ns, timing.start_ns + timing.host_ns});
    if (is_new) {
      order.push_back(instruction.thread);
    }
  }
  const auto by_begin = [](const Interval& a, const Interval& b) {
    return a.begin_ns < b.begin_ns;
  };
  const auto busy_ns = [](const std::vector<Interval>& intervals) {
    std::int64_t sum_ns = 0;
    for (const Interval& interval : intervals) {
      sum_ns += interval.end_ns - interval.begin_ns;
    }
    return sum_ns;
  };
  for (auto& [thread, intervals] : busy) {
    std::sort(intervals.begin(), intervals.end(), by_begin);
  }
  // The busiest thread is the step's own: others run beside it, not it beside them.
  const auto main = std::max_element(busy.begin(), busy.end(), [&](const auto& a, const auto& b) {
    return busy_ns(a.second) < busy_ns(b.second);
  });
  std::vector<std::uint64_t> overlapping;
  for (const std::uint64_t thread : order) {
    if (thread == main->first || communicating.contains(thread)) {
      continue;
    }
    std::vector<Interval> others;
    for (const auto& [other, intervals] : busy) {
      if (other != thread) {
        others.insert(others.end(), intervals.begin(), intervals.end());
      }
    }
    std::sort(others.begin(), others.end(), by_begin);
    const auto share = static_cast<double>(overlap_ns(busy[thread], others)) /
                       static_cast<double>(std::max<std::int64_t>(1, busy_ns(busy[thread])));
    if (share >= kLeastOverlap) {
      overlapping.push_back(thread);
    }
  }
  return overlapping;
}

ThreadPlan plan_threads(const et_schema::Program& program, const BoundProgram& bound,
                        const std::vector<std::uint64_t>& own) {
  const std::vector<std::uint32_t> threads = assign_threads(bound, own);
  std::vector<bool> only_read(program.storages.size());
  for (std::size_t storage = 0; storage < program.storages.size(); ++storage) {
    only_read[storage] = program.storages[storage].external;
  }
  for (const SlotId slot : bound.written) {
    only_read[program.slots[slot].storage] = false;
  }
  ThreadPlan plan;
  plan.threads.resize(own.size() + 1);
  // By storage and thread: how many of its steps are done once the last that touched it is.
  std::vector<std::vector<std::uint32_t>> touched(program.storages.size());
  for (std::size_t i = 0; i < bound.steps.size(); ++i) {
    const std::uint32_t thread = threads[i];
    std::vector<ThreadPlan::Entry>& entries = plan.threads[thread];
    std::vector<std::uint32_t> needed(plan.threads.size(), 0);
    for (const SlotId slot : touched_slots(bound, bound.steps[i])) {
      const et_schema::StorageId storage = program.slots[slot].storage;
      if (only_read[storage]) {
        continue;
      }
      std::vector<std::uint32_t>& last = touched[storage];
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
  // As on the caller's thread: replay.cpp says why.
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
  constexpr std::uint32_t kSpins = 2000;  // then the core may be needed by who is waited for
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
