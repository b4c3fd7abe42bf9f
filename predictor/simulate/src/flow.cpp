#include "predictor/simulate/flow.h"

#include <algorithm>
#include <map>
#include <utility>

#include "et_schema/model/threads.h"
#include "et_schema/model/touches.h"

namespace understudy::predictor {
namespace {

using et_schema::LastTouches;
using et_schema::Touched;

class FlowBuilder {
 public:
  explicit FlowBuilder(const Program& program)
      : program_(program),
        open_(program),
        streams_(program.storages.size()),
        hosts_(program.storages.size()) {
    flow_.on_device =
        !program.device_work.empty() ||
        std::ranges::any_of(program.instructions, [&](const Instruction& instruction) {
          return touches_device(program, instruction);
        });
    set_timelines();
    if (flow_.on_device) {
      for (const std::int64_t stream : operator_streams(program)) {
        flow_.streams.push_back({.recorded = stream});
      }
      for (const et_schema::DeviceWork& work : program.device_work) {
        const Stream own{.recorded = work.stream};
        const bool communicates =
            work.instruction && is_communication(program.instructions[*work.instruction]);
        if (!communicates && std::ranges::find(flow_.streams, own) == flow_.streams.end()) {
          flow_.streams.push_back(own);
        }
      }
      if (flow_.streams.empty()) {
        flow_.streams.push_back({});
      }
    }
  }

  Flow build() {
    for (std::uint32_t at = 0; at < program_.instructions.size(); ++at) {
      visit(at);
    }
    for (const std::uint32_t call : open_.take_all()) {
      flow_.open.push_back(point(call));
    }
    return std::move(flow_);
  }

 private:
  void set_timelines() {
    const et_schema::RecordedThreads threads = et_schema::recorded_threads(program_);
    flow_.timelines = {threads.main};
    flow_.timelines.insert(flow_.timelines.end(), threads.beside.begin(), threads.beside.end());
    for (const Instruction& instruction : program_.instructions) {
      const auto own = std::ranges::find(flow_.timelines, instruction.thread);
      flow_.instructions.push_back(
          {.timeline = own == flow_.timelines.end()
                           ? 0
                           : static_cast<std::uint32_t>(own - flow_.timelines.begin())});
    }
  }

  [[nodiscard]] StreamPoint point(std::uint32_t at) const {
    return {flow_.instructions[at].stream, at};
  }

  void visit(std::uint32_t at) {
    const Instruction& instruction = program_.instructions[at];
    InstructionFlow& flow = flow_.instructions[at];
    if (instruction.kind == InstructionKind::kMarker) {
      return;
    }
    if (instruction.kind == InstructionKind::kWait) {
      join(at, open_.take_waited(instruction));
      return;
    }
    const Touched touched =
        launches_nothing(instruction) ? Touched() : touched_by(program_, instruction);
    join(at, open_.take_touched(touched));
    if (flow_.timelines.size() > 1) {
      for (const auto& [timeline, other] : hosts_.enter(at, flow.timeline, touched)) {
        flow.after_hosts.push_back(other);
      }
    }
    if (is_communication(instruction)) {
      start(at, instruction, touched);
    } else if (flow_.on_device) {
      flow.stream = operator_stream(instruction);
      flow.waits_for_stream = waits_for_device(program_, instruction);
      flow.stream_joins = std::move(pending_[current_]);
      pending_[current_].clear();
      wait_for_memory(flow, at, touched);
      last_operators_[current_] = at;
    }
  }

  /// Returns true for an operator of a device that is known to have launched nothing there: views,
  /// allocations and notes of streams touch no content.
  [[nodiscard]] bool launches_nothing(const Instruction& instruction) const {
    return instruction.launched && instruction.launched->count == 0 &&
           !is_communication(instruction) && touches_device(program_, instruction);
  }

  /// Lets the host wait for CPU communication, or the current stream for communication on a device.
  void join(std::uint32_t at, const std::vector<std::uint32_t>& calls) {
    for (const std::uint32_t call : calls) {
      if (is_on_device(program_.instructions[call])) {
        pending_[current_].push_back(point(call));
      } else {
        flow_.instructions[at].host_joins.push_back(point(call));
      }
    }
  }

  [[nodiscard]] bool is_on_device(const Instruction& call) const {
    return flow_.on_device && moves_on_device(program_, call);
  }

  void start(std::uint32_t at, const Instruction& instruction, const Touched& touched) {
    InstructionFlow& flow = flow_.instructions[at];
    flow.stream = communication_stream(instruction);
    if (is_on_device(instruction)) {
      // A communication starts after all work of the current stream, and after the stream's waits.
      flow.stream_joins = pending_[current_];
      if (const auto last = last_operators_.find(current_); last != last_operators_.end()) {
        flow.after_streams.push_back({current_, last->second});
      }
      wait_for_memory(flow, at, touched);
      if (is_blocking(*instruction.comm)) {
        pending_[current_].push_back(point(at));
        return;
      }
    } else if (is_blocking(*instruction.comm)) {
      flow.is_blocking = true;
      return;
    }
    open_.start(at, instruction);
  }

  void wait_for_memory(InstructionFlow& flow, std::uint32_t at, const Touched& touched) {
    for (const auto& [stream, other] : streams_.enter(at, flow.stream, touched)) {
      flow.after_streams.push_back({stream, other});
    }
  }

  /// An operator without a recorded stream uses the previous operator's, as in the replayer.
  std::uint32_t operator_stream(const Instruction& instruction) {
    if (const auto recorded = recorded_stream(instruction)) {
      const auto found = std::ranges::find_if(flow_.streams, [&](const Stream& stream) {
        return !stream.communicates && stream.recorded == recorded;
      });
      current_ = static_cast<std::uint32_t>(found - flow_.streams.begin());
    }
    return current_;
  }

  std::uint32_t communication_stream(const Instruction& instruction) {
    Stream stream{.communicates = true, .group = instruction.comm->group};
    if (et_schema::is_message(instruction.comm->kind)) {
      stream.peer = instruction.comm->root_or_peer;
      stream.sends = instruction.comm->kind == CommKind::kSend;
    } else {
      stream.recorded = recorded_stream(instruction);
    }
    const auto found = std::find(flow_.streams.begin(), flow_.streams.end(), stream);
    const auto at = static_cast<std::uint32_t>(found - flow_.streams.begin());
    if (found == flow_.streams.end()) {
      flow_.streams.push_back(stream);
    }
    return at;
  }

  const Program& program_;
  Flow flow_;
  et_schema::OpenComms open_;
  LastTouches streams_;
  LastTouches hosts_;
  std::map<std::uint32_t, std::vector<StreamPoint>>
      pending_;  ///< by stream: the next item waits for these
  std::map<std::uint32_t, std::uint32_t> last_operators_;  ///< by stream
  std::uint32_t current_ = 0;  ///< the previous operator's, if none is recorded
};

}  // namespace

Flow flow_of(const Program& program) {
  return FlowBuilder(program).build();
}

}  // namespace understudy::predictor
