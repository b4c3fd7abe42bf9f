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

class TraceWriter {
 public:
  TraceWriter(const Job& job, const Simulation& simulation) : job_(job), simulation_(simulation) {}

  std::string write() {
    for (const RankClass& rank : simulation_.classes) {
      for (const Span& span : rank.spans) {
        first_ns_ = std::min(first_ns_, span.begin_ns);
      }
    }
    for (const RankClass& rank : simulation_.classes) {
      add_names(rank);
      for (const Span& span : rank.spans) {
        add(rank, span);
      }
    }
    return et_schema::dump_lines({{"schemaVersion", 1},
                                  {"displayTimeUnit", "ms"},
                                  {"traceEvents", std::move(events_)}},
                                 2) +
           "\n";
  }

 private:
  void add_names(const RankClass& rank) {
    const Flow& flow = simulation_.flows[rank.program];
    name("process_name", rank, 0,
         rank.ranks.size() == 1
             ? fmt::format("rank {}", rank.ranks.front())
             : fmt::format("rank {} and {} like it", rank.ranks.front(), rank.ranks.size() - 1));
    for (std::uint32_t i = 0; i < flow.timelines.size(); ++i) {
      name("thread_name", rank, i, fmt::format("host thread {}", flow.timelines[i]));
    }
    for (std::uint32_t i = 0; i < flow.streams.size(); ++i) {
      const Stream& stream = flow.streams[i];
      const std::string number = stream.recorded ? fmt::format(" {}", *stream.recorded) : "";
      name("thread_name", rank, kFirstStream + i,
           stream.communicates ? fmt::format("communication{} of group '{}'", number,
                                             job_.groups[stream.group].name)
                               : fmt::format("stream{}", number));
    }
  }

  void name(const char* what, const RankClass& rank, std::uint32_t tid, const std::string& text) {
    events_.push_back({{"ph", "M"},
                       {"name", what},
                       {"pid", rank.ranks.front()},
                       {"tid", tid},
                       {"args", {{"name", text}}}});
  }

  void add(const RankClass& rank, const Span& span) {
    if (span.start_ns == span.end_ns) {
      return;
    }
    const bool is_none = span.instruction == kNoIndex;
    const Instruction* source =
        is_none ? nullptr : &job_.programs[rank.program]->instructions[span.instruction];
    std::string text = name_of(*job_.programs[rank.program], span);
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
                  {"pid", rank.ranks.front()},
                  {"tid", is_on_stream(span) ? kFirstStream + span.lane : span.lane},
                  {"ts", static_cast<double>(span.start_ns - first_ns_) / 1e3},
                  {"dur", static_cast<double>(span.end_ns - span.start_ns) / 1e3}};
    if (source != nullptr) {
      event["args"] = {
          {"instruction", span.instruction},
          {"node", source->node_id},
          {"class", source->comm ? "communication" : et_schema::op_class(source->name)}};
    }
    events_.push_back(std::move(event));
  }

  const Job& job_;
  const Simulation& simulation_;
  std::int64_t first_ns_ = INT64_MAX;
  Json events_ = Json::array();
};

}  // namespace

std::string chrome_trace(const Job& job, const Simulation& simulation) {
  return TraceWriter(job, simulation).write();
}

}  // namespace understudy::predictor
