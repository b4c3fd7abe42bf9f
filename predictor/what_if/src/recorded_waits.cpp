#include "recorded_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "et_schema/model/open_comms.h"
#include "predictor/simulate/flow.h"
#include "predictor/simulate/host_gaps.h"
#include "predictor/simulate/simulate.h"

namespace understudy::predictor {
namespace {

/// Host time of a runtime call before the one that waits.
constexpr std::int64_t kRuntimeCallNs = 5'000;

/// Returns the name, types and shapes.
std::string signature(const Program& program, const Instruction& instruction) {
  std::string text = instruction.name;
  et_schema::for_each_slot(instruction.args, [&](et_schema::SlotId id) {
    text += fmt::format("|{}", static_cast<int>(program.slots[id].dtype));
    for (const std::int64_t size : program.slots[id].sizes) {
      text += fmt::format(",{}", size);
    }
  });
  return text;
}

/// Returns the host time without two waits: for the stream's earlier work, and for the operator's
/// own work, which the simulator adds again. The own work ends launch_ns + device_ns / launches
/// after the last launch. The last launch is half a launch before the call's middle, where the
/// simulator waits.
std::int64_t own_time_ns(const et_schema::Timing& timing, std::optional<std::int64_t> stream_done) {
  const auto launches = static_cast<std::int64_t>(std::max<std::uint64_t>(timing.launches, 1));
  const std::int64_t head_ns = kRuntimeCallNs * (launches + 1);
  const std::int64_t least_ns = std::min(timing.host_ns, head_ns);
  const std::int64_t wait_ns =
      stream_done ? std::max<std::int64_t>(*stream_done - timing.start_ns - head_ns, 0) : 0;
  std::int64_t own_ns = timing.host_ns - wait_ns;
  if (timing.launches > 0) {
    const std::int64_t behind_ns = DeviceTraits{}.launch_ns + timing.device_ns / launches;
    own_ns = std::min(own_ns, (own_ns - behind_ns) * 4 * launches / (4 * launches - 1));
  }
  return std::max(own_ns, least_ns);
}

}  // namespace

std::vector<std::vector<std::int64_t>> host_times_without_waits(
    const std::vector<const Program*>& programs, const std::vector<Flow>& flows) {
  std::vector<std::vector<std::int64_t>> times(programs.size());
  std::map<std::string, std::int64_t> least;
  for (std::size_t p = 0; p < programs.size(); ++p) {
    const RecordedTimeline timeline = recorded_timeline(*programs[p], flows[p]);
    for (std::size_t at = 0; at < programs[p]->instructions.size(); ++at) {
      const Instruction& instruction = programs[p]->instructions[at];
      times[p].push_back(instruction.timing ? instruction.timing->host_ns : 0);
      if (instruction.timing && flows[p].instructions[at].waits_for_stream) {
        times[p].back() = own_time_ns(*instruction.timing, timeline.stream_done_ns[at]);
        const std::int64_t most_ns = own_time_ns(*instruction.timing, {});
        std::int64_t& known =
            least.try_emplace(signature(*programs[p], instruction), most_ns).first->second;
        known = std::min(known, most_ns);
      }
    }
  }
  for (std::size_t p = 0; p < programs.size(); ++p) {
    for (std::size_t at = 0; at < times[p].size(); ++at) {
      if (flows[p].instructions[at].waits_for_stream && programs[p]->instructions[at].timing) {
        times[p][at] = std::min(times[p][at],
                                least.at(signature(*programs[p], programs[p]->instructions[at])));
      }
    }
  }
  return times;
}

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

ObservedComms observed_comms(const Program& program, const Flow& flow) {
  const HostGaps gaps = host_gaps(program, flow);
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
    const std::int64_t ns = is_wait ? instruction.timing->host_ns : gaps.of_instruction[at].host_ns;
    seen.of_instruction[last] = {ns, is_quiet_between(program, flow, last, at)};
    (is_wait ? seen.call_is_wait : seen.gap_is_wait)[at] = true;
  }
  return seen;
}

}  // namespace understudy::predictor
