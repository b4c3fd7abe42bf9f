#include "plan.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <span>
#include <utility>

#include "issued_work.h"
#include "predictor/simulate/flow.h"
#include "predictor/simulate/host_gaps.h"
#include "predictor/simulate/recorded_step.h"
#include "predictor/simulate/recorded_timeline.h"
#include "time_limit.h"

namespace understudy::predictor {
namespace {

using et_schema::DeviceWait;

std::int64_t rounded(double ns) {
  return std::max<std::int64_t>(std::llround(ns), 0);
}

class Planner {
 public:
  Planner(const Program& program, const Flow& flow, const Costs& costs,
          std::vector<PlayedCost>& played)
      : program_(program),
        flow_(flow),
        costs_(costs),
        played_(played),
        gaps_(host_gaps(program, flow)),
        recorded_(recorded_timeline(program, flow)),
        end_(costs.of_end(program)),
        step_(end_ ? recorded_step(program, flow) : std::nullopt),
        open_(flow.timelines.size()),
        carried_(flow.streams.size()) {
    plan_.on_device = flow.on_device;
    plan_.timelines.resize(flow.timelines.size());
    plan_.items.assign(flow.streams.size(), 0);
    played_.assign(program.instructions.size(), {});
    issued_.assign(flow.streams.size(), {});
    items_.assign(program.device_work.size(), {});
    if (step_) {
      work_.emplace(program, flow.streams.size());
    }
    returned_.assign(program.instructions.size(), 0);
  }

  ProgramPlan plan() {
    for (std::uint32_t at = 0; at < program_.instructions.size(); ++at) {
      add(at);
    }
    end();
    return std::move(plan_);
  }

 private:
  void add(std::uint32_t at) {
    const Instruction& instruction = program_.instructions[at];
    const InstructionFlow& flow = flow_.instructions[at];
    PlayedCost& cost = played_[at];
    if (instruction.kind != InstructionKind::kMarker) {
      cost.gap = costs_.of_gap(program_, instruction);
      cost.cost = costs_.of_operator(program_, instruction);
    }
    limit_.add(cost.gap.ns + cost.cost.host.ns + cost.cost.device.ns, instruction.name);
    if (step_) {
      add_recorded(at);
      return;
    }
    Task task{.host_ns = rounded(cost.cost.host.ns), .instruction = at};
    task.gap_ns = add_wait(gaps_.of_instruction[at], flow.timeline, rounded(cost.gap.ns));
    wait_for_others(task, flow);
    carry(flow);
    if (is_communication(instruction)) {
      communicate(task, instruction, flow);
      if (holds_host(instruction, flow)) {
        task.behind = stream_so_far(task.stream);
      }
    } else if (flow.stream != kNoStream) {
      run(task, cost.cost, flow);
    }
    if (flow.waits_for_stream) {
      push_waiting(task, flow);
    } else {
      push(flow.timeline, task);
    }
    returned_[at] = static_cast<std::uint32_t>(plan_.timelines[flow.timeline].size());
  }

  void wait_for_others(Task& task, const InstructionFlow& flow) {
    task.before = points(flow.host_joins);
    for (const std::uint32_t other : flow.after_hosts) {
      plan_.host_deps.push_back({flow_.instructions[other].timeline, returned_[other]});
      task.after_hosts.end = static_cast<std::uint32_t>(plan_.host_deps.size());
    }
    task.after_hosts.begin =
        task.after_hosts.end - static_cast<std::uint32_t>(flow.after_hosts.size());
  }

  // ---- the recorded step, with each launch and wait at its moment

  void add_recorded(std::uint32_t at) {
    const Instruction& instruction = program_.instructions[at];
    const InstructionFlow& flow = flow_.instructions[at];
    const PlayedCost& cost = played_[at];
    at_ = at;
    play(step_->gaps[at], cost.gap.ns, flow.timeline, false);
    carry(flow);
    Task& task = fresh(flow.timeline, true);
    wait_for_others(task, flow);
    const bool on_host = is_communication(instruction) &&
                         (!flow_.on_device || !moves_on_device(program_, instruction));
    if (on_host) {
      task.host_ns = rounded(cost.cost.host.ns);
    } else {
      play(step_->calls[at], cost.cost.host.ns, flow.timeline, true);
    }
    // What the step that is shown did not launch, or in no call of the instruction.
    if (is_communication(instruction) && !is_issued_.contains(at)) {
      communicate(on_host ? task : fresh(flow.timeline, true), instruction, flow);
    } else if (!is_communication(instruction) && flow.stream != kNoStream &&
               work_->of_instruction(at).empty()) {
      run(fresh(flow.timeline, true), cost.cost, flow);
    }
    if (holds_host(instruction, flow)) {
      open_[flow.timeline].behind = stream_so_far(flow.stream);
    }
    close(flow.timeline);
    returned_[at] = static_cast<std::uint32_t>(plan_.timelines[flow.timeline].size());
  }

  /// The timeline's open task, or a new one if that has begun its call already.
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
        open_[timeline].behind = awaited_by(program_.profile->device_waits[*moment.wait]);
        close(timeline);
      }
    }
    pass(1);
  }

  void launch(std::uint32_t number, std::uint32_t timeline, bool in_call) {
    const et_schema::DeviceWork& work = program_.device_work[number];
    if (work.instruction && is_communication(program_.instructions[*work.instruction])) {
      // A call is played once, with all that it launched.
      if (*work.instruction == at_ && in_call && is_issued_.insert(at_).second) {
        communicate(fresh(timeline, true), program_.instructions[at_], flow_.instructions[at_]);
      }
      return;
    }
    Task& task = fresh(timeline, in_call);
    task.work = number;
    task.launches = 1;
    auto ns = static_cast<double>(work.device_ns);
    InstructionFlow flow;
    if (work.instruction) {
      flow = flow_.instructions[*work.instruction];
      ns = share_of(number, *work.instruction);
    }
    const auto stream = std::ranges::find(flow_.streams, Stream{.recorded = work.stream});
    flow.stream = static_cast<std::uint32_t>(stream - flow_.streams.begin());
    task.device_ns = rounded(ns);
    issue(task, flow);
    task.item_instruction = work.instruction.value_or(kNoIndex);
  }

  /// The part of an instruction's device time that falls to a piece of its work.
  double share_of(std::uint32_t number, std::uint32_t instruction) {
    if (instruction > at_) {  // it is launched before its place in the program
      played_[instruction].cost = costs_.of_operator(program_, program_.instructions[instruction]);
    }
    const std::vector<std::uint32_t>& all = work_->of_instruction(instruction);
    double sum_ns = 0;
    for (const std::uint32_t one : all) {
      sum_ns += static_cast<double>(program_.device_work[one].device_ns);
    }
    const double ns = played_[instruction].cost.device.ns;
    return sum_ns > 0 ? ns * static_cast<double>(program_.device_work[number].device_ns) / sum_ns
                      : ns / static_cast<double>(all.size());
  }

  /// What all work that was launched before a wait, and had ended when it ended, is on each stream.
  PlanRange awaited_by(const DeviceWait& wait) {
    const auto begin = static_cast<std::uint32_t>(plan_.stream_deps.size());
    const bool is_known = wait.work && items_[*wait.work].items > 0;
    if (wait.waits_for != DeviceWait::For::kDevice) {
      if (is_known) {
        plan_.stream_deps.push_back(items_[*wait.work]);
      }
    } else {
      for (std::uint32_t stream = 0; stream < issued_.size(); ++stream) {
        StreamDep dep{stream, plan_.items[stream]};
        if (wait.work) {
          dep = work_->ended_by(dep, program_.device_work[*wait.work].end_ns());
        }
        if (dep.items > 0) {
          plan_.stream_deps.push_back(dep);
        }
      }
    }
    return {begin, static_cast<std::uint32_t>(plan_.stream_deps.size())};
  }

  /// Recorded overlap refutes that work waits for other streams, however the memory that it touches
  /// was told apart.
  PlanRange refuted(PlanRange after, const et_schema::DeviceWork& work) {
    auto kept = after.begin;
    for (std::uint32_t i = after.begin; i < after.end; ++i) {
      const StreamDep dep = work_->ended_by(plan_.stream_deps[i], work.start_ns);
      if (dep.items > 0) {
        plan_.stream_deps[kept++] = dep;
      }
    }
    plan_.stream_deps.resize(kept);
    return {after.begin, kept};
  }

  // ---- other costs

  /// Adds a recorded wait for the device as a task of its own; returns the gap that is left after
  /// it.
  std::int64_t add_wait(const HostGap& gap, std::uint32_t timeline, std::int64_t gap_ns) {
    if (!gap.wait || !flow_.on_device) {
      return gap_ns;
    }
    const std::int64_t before_ns = rounded(static_cast<double>(gap_ns) * gap.before_share);
    Task wait{.gap_ns = before_ns};
    wait.behind = waited_for(*gap.wait);
    push(timeline, wait);
    return gap_ns - before_ns;
  }

  /// What a recorded wait waited for. The profile names neither streams nor events. By the recorded
  /// times it is the item that ended when the wait did; for a stream's wait, one of the streams'
  /// last items. A wait that met its event already completed waited at the latest for the last item
  /// that had ended by then.
  PlanRange waited_for(const DeviceWait& wait) {
    if (wait.waits_for == DeviceWait::For::kDevice) {
      return all_streams();
    }
    const std::int64_t over_ns = wait.start_ns + (met_it_completed(wait) ? 0 : wait.host_ns);
    std::optional<StreamDep> found;
    std::int64_t least_ns = 0;
    for (std::uint32_t stream = 0; stream < issued_.size(); ++stream) {
      const auto items = static_cast<std::uint32_t>(issued_[stream].size());
      const std::uint32_t first = wait.waits_for == DeviceWait::For::kStream ? items : 1;
      for (std::uint32_t item = std::max(first, 1U); item <= items; ++item) {
        const std::int64_t end_ns = recorded_.ends_ns[issued_[stream][item - 1]].value_or(0);
        const std::int64_t off_ns = std::abs(end_ns - over_ns);
        if (met_it_completed(wait) && end_ns > over_ns) {
          break;
        }
        if (!found || off_ns <= least_ns) {
          found = StreamDep{stream, item};
          least_ns = off_ns;
        }
      }
    }
    const auto begin = static_cast<std::uint32_t>(plan_.stream_deps.size());
    if (found) {
      plan_.stream_deps.push_back(*found);
    }
    return {begin, static_cast<std::uint32_t>(plan_.stream_deps.size())};
  }

  void communicate(Task& task, const Instruction& instruction, const InstructionFlow& flow) {
    task.call = static_cast<std::uint32_t>(plan_.instructions.size());
    plan_.instructions.push_back(task.instruction);
    task.on_host = !flow_.on_device || !moves_on_device(program_, instruction);
    task.launches = task.on_host ? 0 : 1;
    if (work_ && !task.on_host && !work_->of_instruction(task.instruction).empty()) {
      task.work = work_->of_instruction(task.instruction).back();
    }
    issue(task, flow);
  }

  /// A barrier holds the host wherever it runs.
  static bool holds_host(const Instruction& instruction, const InstructionFlow& flow) {
    return is_communication(instruction) &&
           (flow.is_blocking || instruction.comm->kind == CommKind::kBarrier);
  }

  void run(Task& task, const OperatorCost& cost, const InstructionFlow& flow) {
    task.device_ns = rounded(cost.device.ns);
    task.launches =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(cost.launches, kNoIndex - 1));
    if (task.device_ns > 0 || task.launches > 0) {
      task.launches = std::max(task.launches, 1U);
      issue(task, flow);
    }
  }

  /// Splits an operator that waits: half of its time, with its launches, lies before its wait, and
  /// half after it.
  void push_waiting(Task task, const InstructionFlow& flow) {
    Task rest{.host_ns = task.host_ns - task.host_ns / 2, .instruction = task.instruction};
    task.host_ns /= 2;
    task.behind = stream_so_far(flow.stream);
    push(flow.timeline, task);
    push(flow.timeline, rest);
  }

  /// What a stream has joined applies to its next item, whichever instruction issues it.
  void carry(const InstructionFlow& flow) {
    if (flow.stream != kNoStream) {
      std::vector<StreamPoint>& carried = carried_[flow.stream];
      carried.insert(carried.end(), flow.stream_joins.begin(), flow.stream_joins.end());
    }
  }

  void issue(Task& task, const InstructionFlow& flow) {
    std::vector<StreamPoint> after = flow.after_streams;
    after.insert(after.end(), carried_[flow.stream].begin(), carried_[flow.stream].end());
    carried_[flow.stream].clear();
    task.item_after = points(after, flow.stream);
    if (task.work != kNoIndex) {
      task.item_after = refuted(task.item_after, program_.device_work[task.work]);
      task.turn = work_->turn_of(task.work, flow.stream,
                                 std::span(plan_.stream_deps).subspan(task.item_after.begin));
    }
    task.stream = flow.stream;
    task.item = ++plan_.items[flow.stream];
    task.item_instruction = task.instruction;
    issued_[flow.stream].push_back(step_ ? at_ : task.instruction);
    if (work_) {
      work_->issue(flow.stream, task.work);
    }
    if (task.work != kNoIndex) {
      items_[task.work] = {task.stream, task.item};
    }
  }

  /// The latest point of each stream as dependencies; none on `own`, which keeps its order by
  /// itself.
  PlanRange points(const std::vector<StreamPoint>& points, std::uint32_t own = kNoIndex) {
    const auto begin = static_cast<std::uint32_t>(plan_.stream_deps.size());
    for (const StreamPoint& point : points) {
      const auto& issued = issued_[point.stream];
      const auto items = static_cast<std::uint32_t>(
          std::upper_bound(issued.begin(), issued.end(), point.instruction) - issued.begin());
      if (point.stream != own && items > 0) {
        add_dep(begin, {point.stream, items});
      }
    }
    return {begin, static_cast<std::uint32_t>(plan_.stream_deps.size())};
  }

  void add_dep(std::uint32_t begin, StreamDep dep) {
    for (std::size_t i = begin; i < plan_.stream_deps.size(); ++i) {
      if (plan_.stream_deps[i].stream == dep.stream) {
        plan_.stream_deps[i].items = std::max(plan_.stream_deps[i].items, dep.items);
        return;
      }
    }
    plan_.stream_deps.push_back(dep);
  }

  PlanRange stream_so_far(std::uint32_t stream) { return streams_so_far(stream, stream + 1); }
  PlanRange all_streams() {
    return streams_so_far(0, static_cast<std::uint32_t>(plan_.items.size()));
  }
  PlanRange streams_so_far(std::uint32_t first, std::uint32_t last) {
    const auto begin = static_cast<std::uint32_t>(plan_.stream_deps.size());
    for (std::uint32_t stream = first; stream < last; ++stream) {
      if (plan_.items[stream] > 0) {
        plan_.stream_deps.push_back({stream, plan_.items[stream]});
      }
    }
    return {begin, static_cast<std::uint32_t>(plan_.stream_deps.size())};
  }

  /// At the end the host waits for CPU communication that nothing else waits for; the first stream
  /// of a device waits for all others, as when the replayer ends an iteration.
  void end() {
    if (step_) {
      play(step_->end, end_->ns, 0, false);
      close(0);
    } else {
      static_cast<void>(add_wait(gaps_.at_end, 0, 0));
    }
    Task task;
    std::vector<StreamPoint> on_host = flow_.open;
    std::erase_if(on_host, [this](const StreamPoint& open) {
      return flow_.on_device && touches_device(program_, program_.instructions[open.instruction]);
    });
    const bool is_alone = step_ && !program_.profile->host_runs_ahead;
    task.behind = is_alone ? all_streams() : points(on_host);
    if (flow_.on_device && flow_.streams.size() > 1) {
      task.item_after = all_streams();
      task.stream = 0;
      task.item = ++plan_.items[0];
    }
    push(0, task);
  }

  void push(std::uint32_t timeline, const Task& task) { plan_.timelines[timeline].push_back(task); }

  const Program& program_;
  const Flow& flow_;
  const Costs& costs_;
  std::vector<PlayedCost>& played_;
  TimeLimit limit_;
  HostGaps gaps_;
  RecordedTimeline recorded_;
  std::optional<Estimate> end_;
  std::optional<RecordedStep> step_;
  std::optional<IssuedWork> work_;     ///< of `step_`
  std::uint32_t at_ = 0;               ///< the instruction that is added
  std::vector<Task> open_;             ///< by timeline
  std::set<std::uint32_t> is_issued_;  ///< communications
  std::vector<StreamDep> items_;       ///< by piece of recorded work: its item
  ProgramPlan plan_;
  std::vector<std::vector<StreamPoint>> carried_;   ///< by stream
  std::vector<std::vector<std::uint32_t>> issued_;  ///< by stream: instructions of its items
  /// By instruction: tasks of its timeline up to and including its own.
  std::vector<std::uint32_t> returned_;
};

}  // namespace

ProgramPlan plan_of(const Program& program, const Flow& flow, const Costs& costs,
                    std::vector<PlayedCost>& played) {
  return Planner(program, flow, costs, played).plan();
}

}  // namespace understudy::predictor
