#include <fmt/format.h>

#include <algorithm>

#include "et_schema/base/json_record.h"
#include "et_schema/model/op_class.h"
#include "predictor/simulate/predict.h"

namespace understudy::predictor {
namespace {

using Json = nlohmann::ordered_json;

/// Threads of streams are numbered after the host's.
constexpr std::uint32_t kFirstStream = 1000;

bool is_on_stream(const Span& span) {
  return span.kind == SpanKind::kDevice || span.kind == SpanKind::kArrived ||
         span.kind == SpanKind::kMoving;
}

void add_name(const char* what, const RankClass& rank, std::uint32_t tid, const std::string& text,
              Json& events) {
  events.push_back({{"ph", "M"},
                    {"name", what},
                    {"pid", rank.ranks.front()},
                    {"tid", tid},
                    {"args", {{"name", text}}}});
}

void add_names(const Job& job, const Flow& flow, const RankClass& rank, Json& events) {
  add_name("process_name", rank, 0,
           rank.ranks.size() == 1
               ? fmt::format("rank {}", rank.ranks.front())
               : fmt::format("rank {} and {} like it", rank.ranks.front(), rank.ranks.size() - 1),
           events);
  for (std::uint32_t i = 0; i < flow.timelines.size(); ++i) {
    add_name("thread_name", rank, i, fmt::format("host thread {}", flow.timelines[i]), events);
  }
  for (std::uint32_t i = 0; i < flow.streams.size(); ++i) {
    const Stream& stream = flow.streams[i];
    const std::string number = stream.recorded ? fmt::format(" {}", *stream.recorded) : "";
    add_name("thread_name", rank, kFirstStream + i,
             stream.communicates ? fmt::format("communication{} of group '{}'", number,
                                               job.groups[stream.group].name)
                                 : fmt::format("stream{}", number),
             events);
  }
}

void add_event(const Program& program, const Span& span, int pid, std::int64_t first_ns,
               Json& events) {
  if (span.start_ns == span.end_ns) {
    return;
  }
  const bool is_none = span.instruction == kNoIndex;
  std::string text = name_of(program, span);
  const bool is_wait = span.kind == SpanKind::kHostWait || span.kind == SpanKind::kStall;
  if (is_wait) {
    text = is_none ? "wait for the device" : text + " (waits)";
  } else if (span.kind == SpanKind::kArrived) {
    text += " (waits for ranks)";
  }
  Json event = {{"ph", "X"},
                {"cat", is_on_stream(span) ? "kernel"
                        : is_wait          ? "cuda_runtime"
                                           : "cpu_op"},
                {"name", text},
                {"pid", pid},
                {"tid", is_on_stream(span) ? kFirstStream + span.lane : span.lane},
                {"ts", static_cast<double>(span.start_ns - first_ns) / 1e3},
                {"dur", static_cast<double>(span.end_ns - span.start_ns) / 1e3}};
  if (!is_none) {
    const Instruction& source = program.instructions[span.instruction];
    event["args"] = {{"instruction", span.instruction},
                     {"node", source.node_id},
                     {"class", source.comm ? "communication" : et_schema::op_class(source.name)}};
  }
  events.push_back(std::move(event));
}

}  // namespace

std::string chrome_trace(const Job& job, const Simulation& simulation) {
  std::int64_t first_ns = INT64_MAX;
  for (const RankClass& rank : simulation.classes) {
    for (const Span& span : rank.spans) {
      first_ns = std::min(first_ns, span.begin_ns);
    }
  }
  Json events = Json::array();
  for (const RankClass& rank : simulation.classes) {
    add_names(job, simulation.flows[rank.program], rank, events);
    for (const Span& span : rank.spans) {
      add_event(*job.programs[rank.program], span, rank.ranks.front(), first_ns, events);
    }
  }
  return et_schema::dump_lines(
             {{"schemaVersion", 1}, {"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}},
             2) +
         "\n";
}

}  // namespace understudy::predictor
