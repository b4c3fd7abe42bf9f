#pragma once

#include <cstdint>
#include <vector>

#include "predictor/simulate/simulate.h"

namespace understudy::predictor {

/// Positions in a list of the plan.
struct PlanRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  [[nodiscard]] bool empty() const { return begin == end; }
};

/// A condition: this many items of a stream, counted within the iteration, are done.
struct StreamDep {
  std::uint32_t stream = 0;
  std::uint32_t items = 0;
};

/// A condition: this many tasks of a timeline, counted within the iteration, have returned.
struct HostDep {
  std::uint32_t timeline = 0;
  std::uint32_t tasks = 0;
};

/// When recorded work begins: `latency_ns` after its launch, or `turn_ns` after the end of the
/// device work that it waits for, whichever is later. Work launched early has a smaller latency.
struct RecordedTurn {
  std::int64_t latency_ns = 0;
  std::int64_t turn_ns = 0;
};

/// One task of a host thread, and the items that it issues to a stream.
struct Task {
  std::int64_t gap_ns = 0;
  std::int64_t host_ns = 0;
  std::int64_t stall_ns = 0;  ///< behind its waits: the host waits for the unseen
  std::int64_t device_ns = 0;
  std::uint32_t launches = 0;  ///< an item each
  std::uint32_t instruction = kNoIndex;
  std::uint32_t item_instruction = kNoIndex;  ///< mostly `instruction`
  /// Index in Program::device_work of its item, which is then issued at the task's start.
  std::uint32_t work = kNoIndex;
  RecordedTurn turn = {};           ///< only for an item with `work`
  std::uint32_t stream = kNoIndex;  ///< stream of its item, if it has one
  std::uint32_t item = 0;           ///< number of its first item on the stream, counted from 1
  std::uint32_t call = kNoIndex;    ///< for a communication: its number in the program
  bool on_host = false;             ///< communication: starts when its host's call returns
  bool communicates = false;        ///< its items are communication that no call shows
  PlanRange before = {};            ///< streams that its host waits for before it starts
  PlanRange after_hosts = {};
  PlanRange item_after = {};  ///< streams that its item waits for
  PlanRange behind = {};      ///< streams that its host waits for at the end
};

/// A program with its costs, ready to be simulated any number of times.
struct ProgramPlan {
  std::vector<std::vector<Task>> timelines;
  std::vector<StreamDep> stream_deps;
  std::vector<HostDep> host_deps;
  std::vector<std::uint32_t> items;  ///< by stream: number of items in one iteration
  /// Instructions of the communications, by the communications' number.
  std::vector<std::uint32_t> instructions;
  /// By index in Program::device_work: the cost of work that no instruction launched.
  std::vector<Estimate> outside;
  bool on_device = false;
};

/// Queries `costs` once for each instruction and stores the results in `played`.
[[nodiscard]] ProgramPlan plan_of(const Program& program, const Flow& flow, const Costs& costs,
                                  std::vector<PlayedCost>& played);

}  // namespace understudy::predictor
