#include "plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "plan_builder.h"
#include "recorded_plan.h"

namespace understudy::predictor {
namespace {

using et_schema::DeviceWait;

class Planner : PlanBuilder {
 public:
  using PlanBuilder::PlanBuilder;

  ProgramPlan plan() {
    for (std::uint32_t at = 0; at < program_.instructions.size(); ++at) {
      add(at);
    }
    issue_outside(std::numeric_limits<std::int64_t>::max(),
                  static_cast<std::uint32_t>(program_.instructions.size()));
    static_cast<void>(add_waits(step_.end, 0, 0));
    // Without recorded device work no wait is known. The host waited if the device ended last.
    const auto& profile = program_.profile;
    end(profile && profile->length_ns > profile->step_ns && program_.device_work.empty());
    return std::move(plan_);
  }

 private:
  void add(std::uint32_t at) {
    const Instruction& instruction = program_.instructions[at];
    const InstructionFlow& flow = flow_.instructions[at];
    if (instruction.timing) {
      issue_outside(instruction.timing->start_ns, at);
    }
    ask(at);
    const PlayedCost& cost = played_[at];
    Task task{.host_ns = rounded(cost.cost.host.ns), .instruction = at};
    task.gap_ns = add_waits(step_.gaps[at], flow.timeline, rounded(cost.gap.ns));
    wait_for_others(task, flow);
    carry(flow);
    if (is_communication(instruction)) {
      communicate(task);
      issue(task, flow, at);
      if (holds_host(instruction, flow)) {
        task.behind = stream_so_far(task.stream);
      }
    } else if (flow.stream != kNoStream) {
      run(task, cost.cost);
      task.communicates = et_schema::mostly_communicates(instruction);
      if (task.launches > 0) {
        issue(task, flow, at);
      }
    }
    if (flow.waits_for_stream) {
      push_waiting(task, flow);
    } else {
      push(flow.timeline, task);
    }
    note_returned(at);
  }

  /// Issues the recorded work that no instruction launched, of launches before `until_ns`, ahead of
  /// instruction `at`.
  void issue_outside(std::int64_t until_ns, std::uint32_t at) {
    for (; next_work_ < program_.device_work.size(); ++next_work_) {
      const et_schema::DeviceWork& work = program_.device_work[next_work_];
      if (work.launch_ns >= until_ns) {
        return;
      }
      std::int64_t& end_ns = ends_ns_.try_emplace(work.stream, work.start_ns).first->second;
      if (!work.instruction) {
        Task task;
        const InstructionFlow flow = run_outside(task, next_work_);
        const DeviceTraits traits;
        task.turn = {traits.launch_ns,
                     std::clamp<std::int64_t>(work.start_ns - end_ns, 0, traits.kernel_gap_ns)};
        issue(task, flow, at);
        push(0, task);
      }
      end_ns = work.end_ns();
    }
  }

  /// Adds recorded waits for the device as tasks and returns the remaining gap.
  std::int64_t add_waits(const HostPart& gap, std::uint32_t timeline, std::int64_t gap_ns) {
    std::int64_t done_ns = 0;
    for (const HostMoment& moment : gap.moments) {
      const DeviceWait* const recorded =
          moment.wait ? &program_.profile->device_waits[*moment.wait] : nullptr;
      // Waits behind the step are the next one's.
      if (recorded != nullptr && recorded->start_ns < program_.profile->step_ns &&
          flow_.on_device) {
        const std::int64_t until_ns = rounded(static_cast<double>(gap_ns) * moment.share);
        Task wait{.gap_ns = until_ns - done_ns};
        wait.behind = waited_for(*recorded);
        push(timeline, wait);
        done_ns = until_ns;
      }
    }
    return gap_ns - done_ns;
  }

  /// Returns the items that a recorded wait waited for. If the wait is not for the device: those of
  /// the awaited work's stream up to its instruction, or all issued ones if no instruction launched
  /// it; none if the work is unknown.
  PlanRange waited_for(const DeviceWait& wait) {
    if (wait.waits_for == DeviceWait::For::kDevice) {
      return all_streams();
    }
    if (!wait.work) {
      return points({});
    }
    const et_schema::DeviceWork& work = program_.device_work[*wait.work];
    if (!work.instruction) {
      return stream_so_far(stream_of(work));
    }
    const std::uint32_t stream = flow_.instructions[*work.instruction].stream;
    return stream == kNoStream ? points({}) : points({{stream, *work.instruction}});
  }

  /// Splits an operator that waits: half of its time and all launches are before the wait.
  void push_waiting(Task task, const InstructionFlow& flow) {
    Task rest{.host_ns = task.host_ns - task.host_ns / 2, .instruction = task.instruction};
    task.host_ns /= 2;
    task.behind = stream_so_far(flow.stream);
    push(flow.timeline, task);
    push(flow.timeline, rest);
  }

  std::uint32_t next_work_ = 0;                   ///< index in Program::device_work
  std::map<std::int64_t, std::int64_t> ends_ns_;  ///< by recorded stream: end of its last work
};

}  // namespace

ProgramPlan plan_of(const Program& program, const Flow& flow, const Costs& costs,
                    std::vector<PlayedCost>& played) {
  std::optional<ProgramPlan> recorded = recorded_plan(program, flow, costs, played);
  return recorded ? *std::move(recorded) : Planner(program, flow, costs, played).plan();
}

}  // namespace understudy::predictor
