#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "et_schema/model/device_time.h"
#include "plan.h"
#include "predictor/simulate/flow.h"
#include "predictor/simulate/recorded_step.h"
#include "time_limit.h"

namespace understudy::predictor {

[[nodiscard]] inline std::int64_t rounded(double ns) {
  return std::max<std::int64_t>(std::llround(ns), 0);
}

/// Builds tasks and items from instructions: the part that all costs share.
class PlanBuilder {
 public:
  PlanBuilder(const Program& program, const Flow& flow, const Costs& costs,
              std::vector<PlayedCost>& played)
      : program_(program),
        flow_(flow),
        costs_(costs),
        played_(played),
        step_(recorded_step(program, flow)),
        carried_(flow.streams.size()),
        issued_(flow.streams.size()),
        returned_(program.instructions.size()) {
    plan_.on_device = flow.on_device;
    plan_.timelines.resize(flow.timelines.size());
    plan_.items.assign(flow.streams.size(), 0);
    plan_.outside.resize(program.device_work.size());
    played_.assign(program.instructions.size(), {});
  }
  PlanBuilder(const PlanBuilder&) = delete;
  PlanBuilder& operator=(const PlanBuilder&) = delete;

 protected:
  ~PlanBuilder() = default;

  /// Queries the costs of an instruction.
  void ask(std::uint32_t at) {
    const Instruction& instruction = program_.instructions[at];
    PlayedCost& cost = played_[at];
    if (instruction.kind != InstructionKind::kMarker) {
      cost.gap = costs_.of_gap(program_, instruction);
      cost.cost = costs_.of_operator(program_, instruction);
    }
    limit_.add(cost.gap.ns + cost.cost.host.ns + cost.cost.device.ns, instruction.name);
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

  /// Starts the task's communication.
  void communicate(Task& task) {
    task.call = static_cast<std::uint32_t>(plan_.instructions.size());
    plan_.instructions.push_back(task.instruction);
    task.on_host =
        !flow_.on_device || !moves_on_device(program_, program_.instructions[task.instruction]);
    task.launches = task.on_host ? 0 : 1;
  }

  /// A barrier blocks the host on any device.
  static bool holds_host(const Instruction& instruction, const InstructionFlow& flow) {
    return is_communication(instruction) &&
           (flow.is_blocking || instruction.comm->kind == CommKind::kBarrier);
  }

  /// Prepares the task of recorded work that no instruction launched, and returns where it runs.
  InstructionFlow run_outside(Task& task, std::uint32_t number) {
    const et_schema::DeviceWork& work = program_.device_work[number];
    const Estimate& cost = plan_.outside[number] = costs_.of_outside(program_, work);
    limit_.add(cost.ns, std::string(to_string(work.why)));
    task.work = number;
    task.launches = 1;
    task.device_ns = rounded(cost.ns);
    task.communicates = et_schema::communicates_unseen(work);
    return {.stream = stream_of(work)};
  }

  [[nodiscard]] std::uint32_t stream_of(const et_schema::DeviceWork& work) const {
    const auto stream = std::ranges::find(flow_.streams, Stream{.recorded = work.stream});
    return static_cast<std::uint32_t>(stream - flow_.streams.begin());
  }

  static void run(Task& task, const OperatorCost& cost) {
    task.device_ns = rounded(cost.device.ns);
    constexpr std::uint64_t kMostLaunches = 1'024;  // no operator is known to launch more
    task.launches = static_cast<std::uint32_t>(std::min(cost.launches, kMostLaunches));
    task.launches = std::max(task.launches, task.device_ns > 0 ? 1U : 0U);
  }

  /// A stream's joins apply to its next item, whichever instruction issues it.
  void carry(const InstructionFlow& flow) {
    if (flow.stream != kNoStream) {
      std::vector<StreamPoint>& carried = carried_[flow.stream];
      carried.insert(carried.end(), flow.stream_joins.begin(), flow.stream_joins.end());
    }
  }

  /// Issues the task's items to the stream. `at` is the current instruction.
  void issue(Task& task, const InstructionFlow& flow, std::uint32_t at) {
    std::vector<StreamPoint> after = flow.after_streams;
    after.insert(after.end(), carried_[flow.stream].begin(), carried_[flow.stream].end());
    carried_[flow.stream].clear();
    task.item_after = points(after, flow.stream);
    if (flow.stream > 0 && plan_.items[flow.stream] == 0 && plan_.on_device && !program_.profile) {
      // What a stream reads first, the operators of the iteration before may have written.
      add_dep(task.item_after.begin, {0, 0});
      task.item_after.end = static_cast<std::uint32_t>(plan_.stream_deps.size());
    }
    task.stream = flow.stream;
    task.item = plan_.items[flow.stream] + 1;
    task.item_instruction = task.instruction;
    const std::uint32_t items = std::max(task.launches, 1U);
    plan_.items[flow.stream] += items;
    issued_[flow.stream].insert(issued_[flow.stream].end(), items, at);
  }

  /// Returns dependencies on the latest point of each stream except `own`, whose items run in order
  /// anyway.
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

  void push(std::uint32_t timeline, const Task& task) { plan_.timelines[timeline].push_back(task); }
  void note_returned(std::uint32_t at) {
    returned_[at] =
        static_cast<std::uint32_t>(plan_.timelines[flow_.instructions[at].timeline].size());
  }

  /// Ends the program like an iteration of the replayer. The host waits for CPU communication that
  /// nothing else waits for, or for all streams; a device's first stream waits for all others.
  void end(bool waits_for_all) {
    Task task;
    std::vector<StreamPoint> on_host = flow_.open;
    std::erase_if(on_host, [this](const StreamPoint& open) {
      return flow_.on_device && touches_device(program_, program_.instructions[open.instruction]);
    });
    task.behind = waits_for_all ? all_streams() : points(on_host);
    if (flow_.on_device && flow_.streams.size() > 1) {
      task.item_after = all_streams();
      task.stream = 0;
      task.item = ++plan_.items[0];
    }
    push(0, task);
  }

  const Program& program_;
  const Flow& flow_;
  const Costs& costs_;
  std::vector<PlayedCost>& played_;
  RecordedStep step_;
  TimeLimit limit_;
  ProgramPlan plan_;
  std::vector<std::vector<StreamPoint>> carried_;   ///< by stream
  std::vector<std::vector<std::uint32_t>> issued_;  ///< by stream: instruction of each item
  /// By instruction: number of tasks on its timeline up to and including its own.
  std::vector<std::uint32_t> returned_;
};

}  // namespace understudy::predictor
