#include "recorded_plan.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "issued_work.h"
#include "plan_builder.h"

namespace understudy::predictor {
namespace {

using et_schema::DeviceWait;

class RecordedPlanner : PlanBuilder {
 public:
  RecordedPlanner(const Program& program, const Flow& flow, const Costs& costs,
                  std::vector<PlayedCost>& played)
      : PlanBuilder(program, flow, costs, played),
        work_(program, flow.streams.size()),
        open_(flow.timelines.size()),
        items_(program.device_work.size()) {}

  ProgramPlan plan(const Estimate& host_behind) {
    for (std::uint32_t at = 0; at < program_.instructions.size(); ++at) {
      add(at);
    }
    at_ = kNoIndex;
    play(step_.end, host_behind.ns, 0, false);
    close(0);
    end(!program_.profile->host_runs_ahead);
    return std::move(plan_);
  }

 private:
  void add(std::uint32_t at) {
    const Instruction& instruction = program_.instructions[at];
    const InstructionFlow& flow = flow_.instructions[at];
    const bool is_call = is_communication(instruction);
    at_ = at;
    ask(at);
    play(step_.gaps[at], played_[at].gap.ns, flow.timeline, false);
    carry(flow);
    wait_for_others(fresh(flow.timeline, true), flow);
    play(step_.calls[at], played_[at].cost.host.ns, flow.timeline, true);
    // Issue work that the recorded step did not launch within the instruction's call.
    if (is_call && !is_issued_.contains(at)) {
      start_call(flow.timeline);
    } else if (!is_call && flow.stream != kNoStream && work_.of_instruction(at).empty()) {
      Task& task = fresh(flow.timeline, true);
      run(task, played_[at].cost);
      if (task.launches > 0) {
        issue_work(task, flow);
      }
    }
    if (holds_host(instruction, flow)) {
      open_[flow.timeline].behind = stream_so_far(flow.stream);
    }
    close(flow.timeline);
    note_returned(at);
  }

  /// Starts the current instruction's communication with everything that it launched.
  void start_call(std::uint32_t timeline) {
    is_issued_.insert(at_);
    Task& task = fresh(timeline, true);
    communicate(task);
    if (!task.on_host && !work_.of_instruction(at_).empty()) {
      task.work = work_.first_of(work_.of_instruction(at_));
    }
    issue_work(task, flow_.instructions[at_]);
    for (const std::uint32_t work : work_.of_instruction(at_)) {
      items_[work] = {task.stream, task.item};
    }
  }

  void issue_work(Task& task, const InstructionFlow& flow) {
    issue(task, flow, at_);
    if (task.work != kNoIndex) {
      task.item_after = refuted(task.item_after, program_.device_work[task.work]);
      task.turn = work_.turn_of(task.work, flow.stream,
                                std::span(plan_.stream_deps).subspan(task.item_after.begin));
      items_[task.work] = {task.stream, task.item};
    }
    // A communication is one item, whatever it launched.
    work_.issue(flow.stream,
                task.work == kNoIndex   ? std::span<const std::uint32_t>()
                : task.call == kNoIndex ? std::span<const std::uint32_t>(&task.work, 1)
                                        : std::span(work_.of_instruction(at_)),
                std::max(task.launches, 1U));
  }

  /// Returns the timeline's open task, or a new one if its call has already begun.
  Task& fresh(std::uint32_t timeline, bool in_call) {
    Task& task = open_[timeline];
    if (task.host_ns > 0 || task.stream != kNoIndex) {
      close(timeline);
    }
    task.instruction = in_call ? at_ : kNoIndex;
    return task;
  }

  void close(std::uint32_t timeline) {
    push(timeline, open_[timeline]);
    open_[timeline] = {};
  }

  void play(const HostPart& part, double ns, std::uint32_t timeline, bool in_call) {
    std::int64_t done_ns = 0;
    const auto pass = [&](double share) {
      const std::int64_t until_ns = rounded(share * ns);
      if (until_ns > done_ns) {
        Task& task = in_call ? open_[timeline] : fresh(timeline, false);
        task.instruction = at_;
        (in_call ? task.host_ns : task.gap_ns) += until_ns - done_ns;
      }
      done_ns = std::max(done_ns, until_ns);
    };
    for (const HostMoment& moment : part.moments) {
      pass(moment.share);
      if (moment.work) {
        launch(*moment.work, timeline, in_call);
      } else {
        open_[timeline].instruction = at_;
        open_[timeline].stall_ns = moment.stall_ns;
        open_[timeline].behind = awaited_by(program_.profile->device_waits[*moment.wait]);
        close(timeline);
      }
    }
    pass(1);
  }

  void launch(std::uint32_t number, std::uint32_t timeline, bool in_call) {
    const et_schema::DeviceWork& work = program_.device_work[number];
    if (work.instruction && is_communication(program_.instructions[*work.instruction])) {
      // A communication is issued once, with everything that it launched.
      if (*work.instruction == at_ && in_call && !is_issued_.contains(at_)) {
        start_call(timeline);
      }
      return;
    }
    Task& task = fresh(timeline, in_call);
    if (work.instruction) {
      task.work = number;
      task.launches = 1;
      task.device_ns = rounded(share_of(number, *work.instruction));
      task.communicates = et_schema::mostly_communicates(program_.instructions[*work.instruction]);
      InstructionFlow flow = flow_.instructions[*work.instruction];
      flow.stream = stream_of(work);
      issue_work(task, flow);
    } else {
      issue_work(task, run_outside(task, number));
    }
    task.item_instruction = work.instruction.value_or(kNoIndex);
  }

  /// Returns a device work's share of its instruction's device time.
  double share_of(std::uint32_t number, std::uint32_t instruction) {
    if (instruction > at_) {  // launched before its place in the program
      played_[instruction].cost = costs_.of_operator(program_, program_.instructions[instruction]);
    }
    const std::vector<std::uint32_t>& all = work_.of_instruction(instruction);
    double sum_ns = 0;
    for (const std::uint32_t one : all) {
      sum_ns += static_cast<double>(program_.device_work[one].device_ns);
    }
    const double ns = played_[instruction].cost.device.ns;
    return sum_ns > 0 ? ns * static_cast<double>(program_.device_work[number].device_ns) / sum_ns
                      : ns / static_cast<double>(all.size());
  }

  /// Returns the items that a wait waited for. If a device work is known: that work's
  /// item, or for a wait for the whole device all items that had ended with that work. Otherwise:
  /// all items of the previous step.
  PlanRange awaited_by(const DeviceWait& wait) {
    const auto begin = static_cast<std::uint32_t>(plan_.stream_deps.size());
    if (wait.work && wait.waits_for != DeviceWait::For::kDevice) {
      if (items_[*wait.work].items > 0) {
        plan_.stream_deps.push_back(items_[*wait.work]);
      }
    } else if (wait.own_ns < wait.host_ns) {
      for (std::uint32_t stream = 0; stream < issued_.size(); ++stream) {
        plan_.stream_deps.push_back(wait.work
                                        ? work_.ended_by({stream, plan_.items[stream]},
                                                         program_.device_work[*wait.work].end_ns())
                                        : StreamDep{stream, 0});
      }
    }
    return {begin, static_cast<std::uint32_t>(plan_.stream_deps.size())};
  }

  /// Removes dependencies on other streams that the recorded overlap disproves.
  PlanRange refuted(PlanRange after, const et_schema::DeviceWork& work) {
    auto kept = after.begin;
    for (std::uint32_t i = after.begin; i < after.end; ++i) {
      const StreamDep dep = work_.ended_by(plan_.stream_deps[i], work.start_ns);
      if (dep.items > 0) {
        plan_.stream_deps[kept++] = dep;
      }
    }
    plan_.stream_deps.resize(kept);
    return {after.begin, kept};
  }

  IssuedWork work_;
  std::uint32_t at_ = 0;               ///< the current instruction
  std::vector<Task> open_;             ///< by timeline
  std::set<std::uint32_t> is_issued_;  ///< communications that were issued
  std::vector<StreamDep> items_;       ///< stream and item number of each recorded device work
};

}  // namespace

std::optional<ProgramPlan> recorded_plan(const Program& program, const Flow& flow,
                                         const Costs& costs, std::vector<PlayedCost>& played) {
  const std::optional<Estimate> end = costs.of_end(program);
  return end ? std::optional(RecordedPlanner(program, flow, costs, played).plan(*end))
             : std::nullopt;
}

}  // namespace understudy::predictor
