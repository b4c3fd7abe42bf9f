#include <algorithm>
#include <map>

#include "et_schema/model/touches.h"
#include "et_schema/support/error.h"
#include "replayer/run/streams.h"

namespace understudy::replayer {
namespace {

using et_schema::Instruction;
using et_schema::Program;
using et_schema::SlotId;
using et_schema::StorageId;
using et_schema::Touched;

std::optional<std::int64_t> recorded_stream(const Step& step) {
  return step.source != nullptr && step.source->timing ? step.source->timing->stream : std::nullopt;
}

bool communicates(const Step& step) {
  return step.kind == StepKind::kStart || step.kind == StepKind::kJoin;
}

/// Recorded streams of operators by falling number of steps, then by number.
std::vector<std::int64_t> streams_by_use(const BoundProgram& bound) {
  std::map<std::int64_t, std::size_t> counts;
  for (const Step& step : bound.steps) {
    if (const auto stream = recorded_stream(step); stream && !communicates(step)) {
      ++counts[*stream];
    }
  }
  std::vector<std::int64_t> streams;
  for (const auto& [stream, count] : counts) {
    streams.push_back(stream);
  }
  std::stable_sort(streams.begin(), streams.end(),
                   [&](std::int64_t a, std::int64_t b) { return counts[a] > counts[b]; });
  return streams;
}

Touched touched_by_step(const Program& program, const BoundProgram& bound, const Step& step) {
  if (!communicates(step)) {
    return step.source == nullptr ? Touched() : touched_by(program, *step.source);
  }
  Touched touched;
  for (const SlotId slot : bound.comms[step.index].inputs) {
    touched.reads.push_back(program.slots[slot].storage);
  }
  for (const SlotId slot : bound.comms[step.index].outputs) {
    touched.writes.push_back(program.slots[slot].storage);
  }
  return touched;
}

/// Settles the home of each storage, which is the stream that first writes it: the allocator gives
/// its memory back there. True if one of the storages has another home than `stream`. Externals are
/// never given back.
bool settle_homes(const Program& program, const Touched& touched, std::uint32_t stream,
                  std::vector<std::optional<std::uint32_t>>& home) {
  bool is_foreign = false;
  for (const auto* storages : {&touched.writes, &touched.reads}) {
    for (const StorageId storage : *storages) {
      if (program.storages[storage].external) {
        continue;
      }
      if (!home[storage]) {
        home[storage] = stream;
      }
      is_foreign |= *home[storage] != stream;
    }
  }
  return is_foreign;
}

}  // namespace

void check_streams(const Program& program, c10::Device device, Streams streams) {
  if (streams == Streams::kOne) {
    return;
  }
  if (device.is_cpu()) {
    throw et_schema::usage_error("a CPU has no streams",
                                 {.field = "--streams",
                                  .expected = "--device cuda",
                                  .got = "cpu",
                                  .hint = "Leave --streams out, or replay on a GPU."});
  }
  const bool is_known =
      std::any_of(program.instructions.begin(), program.instructions.end(),
                  [](const Instruction& one) { return one.timing && one.timing->stream; });
  if (!is_known) {
    throw et_schema::usage_error(
        "the benchmark does not say which streams the original used",
        {.field = "--streams",
         .expected = "one, or a benchmark that a GPU's profile was linked to",
         .got = std::string(to_string(streams)),
         .hint = "Make the benchmark anew with `generate --profile`, from a Kineto profile of "
                 "the same step."});
  }
}

StreamPlan plan_streams(const Program& program, const BoundProgram& bound) {
  const std::vector<std::int64_t> streams = streams_by_use(bound);
  if (streams.size() <= 1) {
    return {};
  }
  StreamPlan plan;
  plan.streams = static_cast<std::uint32_t>(streams.size());
  plan.steps.resize(bound.steps.size());
  et_schema::LastTouches touches(program.storages.size());
  std::vector<std::optional<std::uint32_t>> home(program.storages.size());
  std::uint32_t current = 0;
  for (std::uint32_t at = 0; at < bound.steps.size(); ++at) {
    const Step& step = bound.steps[at];
    if (const auto stream = recorded_stream(step); stream && !communicates(step)) {
      current = static_cast<std::uint32_t>(std::find(streams.begin(), streams.end(), *stream) -
                                           streams.begin());
    }
    const std::uint32_t here = communicates(step) ? 0 : current;
    plan.steps[at].stream = here;
    const Touched touched = touched_by_step(program, bound, step);
    for (const et_schema::LastOfLanes::Last& last : touches.enter(at, here, touched)) {
      plan.steps[at].waits_for.push_back(last.step);
    }
    std::ranges::sort(plan.steps[at].waits_for);
    plan.steps[at].uses_foreign_memory = settle_homes(program, touched, here, home);
    for (const std::uint32_t step : plan.steps[at].waits_for) {
      plan.steps[step].is_waited_for = true;
    }
  }
  return plan;
}

}  // namespace understudy::replayer
