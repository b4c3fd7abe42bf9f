#include "plan.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "plan_builder.h"
#include "predictor/simulate/host_gaps.h"
#include "predictor/simulate/recorded_timeline.h"
#include "recorded_plan.h"

namespace understudy::predictor {
namespace {

using et_schema::DeviceWait;

class Planner : PlanBuilder {
 public:
  Planner(const Program& program, const Flow& flow, const Costs& costs,
          std::vector<PlayedCost>& played)
      : PlanBuilder(program, flow, costs, played),
        gaps_(host_gaps(program, flow)),
        recorded_(recorded_timeline(program, flow)) {}

  ProgramPlan plan() {
    for (std::uint32_t at = 0; at < program_.instructions.size(); ++at) {
      add(at);
    }
    static_cast<void>(add_wait(gaps_.at_end, 0, 0));
    end(false);
    return std::move(plan_);
  }

 private:
  void add(std::uint32_t at) {
    const Instruction& instruction = program_.instructions[at];
    const InstructionFlow& flow = flow_.instructions[at];
    ask(at);
    const PlayedCost& cost = played_[at];
    Task task{.host_ns = rounded(cost.cost.host.ns), .instruction = at};
    task.gap_ns = add_wait(gaps_.of_instruction[at], flow.timeline, rounded(cost.gap.ns));
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

  /// Adds a recorded wait for the device as a task and returns the remaining gap.
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

  /// Returns the items that a recorded wait waited for. The profile names neither streams nor
  /// events. By the recorded times it is the item that ended with the wait; for a stream's wait,
  /// one of the streams' last items. If the wait found its event completed, it is the last item
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

  /// Splits an operator that waits: half of its time and all launches are before the wait.
  void push_waiting(Task task, const InstructionFlow& flow) {
    Task rest{.host_ns = task.host_ns - task.host_ns / 2, .instruction = task.instruction};
    task.host_ns /= 2;
    task.behind = stream_so_far(flow.stream);
    push(flow.timeline, task);
    push(flow.timeline, rest);
  }

  HostGaps gaps_;
  RecordedTimeline recorded_;
};

}  // namespace

ProgramPlan plan_of(const Program& program, const Flow& flow, const Costs& costs,
                    std::vector<PlayedCost>& played) {
  std::optional<ProgramPlan> recorded = recorded_plan(program, flow, costs, played);
  return recorded ? *std::move(recorded) : Planner(program, flow, costs, played).plan();
}

}  // namespace understudy::predictor
