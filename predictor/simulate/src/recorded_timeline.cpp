#include "predictor/simulate/recorded_timeline.h"

#include <algorithm>

#include "predictor/simulate/simulate.h"

namespace understudy::predictor {
namespace {

/// One of a stream's last items: its instruction and its end.
struct Ended {
  std::uint32_t instruction;
  std::int64_t end_ns;
};

std::int64_t done_ns(const std::vector<Ended>& stream, std::uint32_t up_to) {
  const auto behind = std::ranges::upper_bound(stream, up_to, {}, &Ended::instruction);
  return behind == stream.begin() ? 0 : (behind - 1)->end_ns;
}

}  // namespace

RecordedTimeline recorded_timeline(const Program& program, const Flow& flow) {
  const DeviceTraits traits;
  RecordedTimeline result;
  result.ends_ns.resize(program.instructions.size());
  result.stream_done_ns.resize(program.instructions.size());
  std::vector<std::vector<Ended>> streams(flow.streams.size());
  for (std::uint32_t at = 0; at < program.instructions.size(); ++at) {
    const Instruction& instruction = program.instructions[at];
    const InstructionFlow& own = flow.instructions[at];
    if (!instruction.timing || own.stream == kNoStream) {
      continue;
    }
    const et_schema::Timing& timing = *instruction.timing;
    std::vector<Ended>& stream = streams[own.stream];
    if (own.waits_for_stream && !stream.empty()) {
      result.stream_done_ns[at] = stream.back().end_ns;
    }
    if (timing.launches > 0) {
      const auto launches = static_cast<std::int64_t>(timing.launches);
      const std::int64_t half_ns = timing.host_ns / (2 * launches);
      std::int64_t begin_ns = std::max(timing.start_ns + half_ns + traits.launch_ns,
                                       stream.empty() ? 0 : stream.back().end_ns);
      for (const auto* points : {&own.after_streams, &own.stream_joins}) {
        for (const StreamPoint& point : *points) {
          begin_ns = std::max(begin_ns, done_ns(streams[point.stream], point.instruction));
        }
      }
      const std::int64_t last_ns = timing.start_ns + timing.host_ns - half_ns + traits.launch_ns;
      const std::int64_t end_ns =
          std::max(begin_ns + timing.device_ns, last_ns + timing.device_ns / launches);
      result.ends_ns[at] = end_ns;
      stream.push_back({at, end_ns});
    }
  }
  return result;
}

}  // namespace understudy::predictor
