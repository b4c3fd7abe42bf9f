#include "recorded_waits.h"

#include <algorithm>

#include "et_schema/model/open_comms.h"

namespace understudy::predictor {
namespace {

/// Returns true if no operator ran on the timeline between two instructions.
bool is_quiet_between(const Program& program, const Flow& flow, std::uint32_t first,
                      std::uint32_t last) {
  for (std::uint32_t at = first + 1; at < last; ++at) {
    const Instruction& instruction = program.instructions[at];
    if (flow.instructions[at].timeline == flow.instructions[last].timeline && instruction.timing &&
        instruction.timing->host_ns > 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

ObservedComms observed_comms(const Program& program, const Flow& flow, const RecordedStep& step) {
  ObservedComms seen;
  seen.of_instruction.resize(program.instructions.size());
  seen.gap_is_wait.assign(program.instructions.size(), false);
  seen.call_is_wait.assign(program.instructions.size(), false);
  for (std::uint32_t at = 0; at < program.instructions.size(); ++at) {
    const Instruction& instruction = program.instructions[at];
    const InstructionFlow& own = flow.instructions[at];
    if (!instruction.timing) {
      continue;
    }
    if (is_communication(instruction) && own.is_blocking) {
      ObservedComm own_time{instruction.timing->host_ns, true};
      seen.call_is_wait[at] = true;
      if (const auto wait = et_schema::wait_behind(program, at);
          wait && program.instructions[*wait].timing) {
        own_time.ns += program.instructions[*wait].timing->host_ns;
        own_time.is_whole = is_quiet_between(program, flow, at, *wait);
        seen.call_is_wait[*wait] = true;
      }
      seen.of_instruction[at] = own_time;
      continue;
    }
    if (own.host_joins.empty()) {
      continue;
    }
    // If there are several, the host waits longest for the one started last.
    const std::uint32_t last =
        std::ranges::max(own.host_joins, {}, &StreamPoint::instruction).instruction;
    const bool is_wait = instruction.kind == InstructionKind::kWait;
    const std::int64_t ns = is_wait ? instruction.timing->host_ns : step.gaps[at].host_ns;
    seen.of_instruction[last] = {ns, is_quiet_between(program, flow, last, at)};
    (is_wait ? seen.call_is_wait : seen.gap_is_wait)[at] = true;
  }
  return seen;
}

}  // namespace understudy::predictor
