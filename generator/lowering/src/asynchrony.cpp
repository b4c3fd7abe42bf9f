#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "et_schema/model/open_comms.h"
#include "et_schema/model/touches.h"
#include "generator/flow/model_names.h"
#include "generator/lowering/lowering.h"

namespace understudy::generator {
namespace {

using et_schema::StreamWait;
using et_schema::Timing;

class Asynchrony {
 public:
  Asynchrony(const Trace& trace, const Link* link, Program& program)
      : trace_(trace), link_(link), program_(program) {
    for (Instruction& instruction : program_.instructions) {
      if (const NodeTimes* times = times_of(instruction)) {
        instruction.timing = Timing{.start_ns = times->start_ns, .stream = times->stream};
      }
    }
    const std::vector<std::int64_t> streams = et_schema::operator_streams(program_);
    operators_stream_ = streams.empty() ? std::nullopt : std::optional(streams.front());
  }

  void set() {
    for (std::uint32_t i = 0; i < program_.instructions.size(); ++i) {
      Instruction& instruction = program_.instructions[i];
      const bool is_in_question = et_schema::is_communication(instruction) &&
                                  instruction.comm->kind != CommKind::kBarrier &&
                                  et_schema::is_blocking(*instruction.comm) &&
                                  is_on_device(instruction);
      const std::string_view why = is_in_question ? why_asynchronous(i) : std::string_view();
      if (!why.empty()) {
        instruction.comm->is_async = true;
        instruction.comm->why = why;
      }
    }
    if (link_ != nullptr) {
      add_waits(link_->profile.stream_waits);
    }
    for (Instruction& instruction : program_.instructions) {
      if (instruction.kind != InstructionKind::kWait || instruction.comm->why.empty()) {
        instruction.timing.reset();  // set_timings() sets the complete times
      }
    }
  }

 private:
  [[nodiscard]] const NodeTimes* times_of(const Instruction& instruction) const {
    if (link_ == nullptr || instruction.node_id == et_schema::kNoNodeId) {
      return nullptr;
    }
    const NodeIndex node = trace_.find(instruction.node_id);
    return node == kNoNode || !link_->nodes[node] ? nullptr : &*link_->nodes[node];
  }

  [[nodiscard]] bool is_on_device(const Instruction& instruction) const {
    const std::vector<SlotId> slots = et_schema::slots_in(instruction.args);
    return std::ranges::any_of(slots, [&](SlotId slot) {
      return is_accelerator(program_.storages[program_.slots[slot].storage].device);
    });
  }

  /// Returns why the call counts as asynchronous; empty if it stays synchronous.
  [[nodiscard]] std::string_view why_asynchronous(std::uint32_t call) const {
    const std::optional<Timing>& timing = program_.instructions[call].timing;
    if (et_schema::wait_behind(program_, call)) {
      return {};
    }
    if (timing && timing->stream) {
      return timing->stream != operators_stream_ ? et_schema::kOwnStream : std::string_view();
    }
    NodeIndex node = trace_.find(program_.instructions[call].node_id);
    while (node != kNoNode &&
           !trace_.nodes[node].name.starts_with(et_schema::kShardedDataParallelLabel)) {
      node = trace_.nodes[node].parent;
    }
    return node == kNoNode ? std::string_view() : et_schema::kShardedDataParallel;
  }

  /// Returns the asynchronous calls for which the trace has no wait; the profile must provide it.
  [[nodiscard]] std::vector<std::uint32_t> calls_without_wait() const {
    et_schema::OpenComms open(program_);
    for (std::uint32_t i = 0; i < program_.instructions.size(); ++i) {
      const Instruction& instruction = program_.instructions[i];
      if (instruction.kind == InstructionKind::kWait) {
        static_cast<void>(open.take_waited(instruction));
      } else if (et_schema::is_communication(instruction) &&
                 !et_schema::is_blocking(*instruction.comm)) {
        open.start(i, instruction);
      }
    }
    return open.take_all();
  }

  void add_waits(const std::vector<StreamWait>& waits) {
    std::vector<std::uint32_t> calls = calls_without_wait();
    std::multimap<std::size_t, Instruction> added;  // by the instruction that follows
    for (const StreamWait& wait : waits) {
      if (wait.stream && wait.stream != operators_stream_) {
        continue;
      }
      std::erase_if(calls, [&](std::uint32_t call) {
        const Instruction& started = program_.instructions[call];
        const bool is_meant = started.timing && started.timing->stream == wait.for_stream &&
                              started.timing->start_ns < wait.until_ns;
        if (is_meant) {
          added.emplace(place_of(wait, call), wait_for(started, wait));
        }
        return is_meant;
      });
    }
    std::vector<Instruction> all;
    all.reserve(program_.instructions.size() + added.size());
    for (std::size_t i = 0; i <= program_.instructions.size(); ++i) {
      for (auto [at, end] = added.equal_range(i); at != end; ++at) {
        all.push_back(std::move(at->second));
      }
      if (i < program_.instructions.size()) {
        all.push_back(std::move(program_.instructions[i]));
      }
    }
    program_.instructions = std::move(all);
  }

  /// Returns the index of the first instruction behind `call` that was issued after the wait.
  [[nodiscard]] std::size_t place_of(const StreamWait& wait, std::uint32_t call) const {
    std::size_t place = call + 1;
    while (place < program_.instructions.size() &&
           (!program_.instructions[place].timing ||
            program_.instructions[place].timing->start_ns < wait.start_ns)) {
      ++place;
    }
    return place;
  }

  static Instruction wait_for(const Instruction& call, const StreamWait& wait) {
    Instruction instruction;
    instruction.kind = InstructionKind::kWait;
    instruction.thread = call.thread;
    instruction.name = "wait";
    et_schema::CommInfo info;
    info.kind = CommKind::kWait;
    info.group = call.comm->group;
    info.seq = call.comm->seq;
    info.names_group = true;
    info.is_p2p = et_schema::is_message(call.comm->kind);
    info.why = wait.stream ? "wait of a stream" : "wait of the host";
    if (!info.seq) {
      instruction.args = {call.args[call.comm->kind == CommKind::kSend ? 0 : 1]};
    }
    instruction.comm = std::move(info);
    instruction.timing = Timing{.start_ns = wait.start_ns, .stream = wait.stream};
    return instruction;
  }

  const Trace& trace_;
  const Link* link_;
  Program& program_;
  std::optional<std::int64_t> operators_stream_;
};

}  // namespace

void set_asynchrony(const Trace& trace, const Link* link, Program& program) {
  Asynchrony(trace, link, program).set();
}

}  // namespace understudy::generator
