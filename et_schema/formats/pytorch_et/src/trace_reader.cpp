#include "et_schema/formats/pytorch_et/trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "et_schema/base/arena.h"
#include "et_schema/base/content_hash.h"
#include "et_schema/base/error.h"
#include "et_schema/base/quote.h"
#include "et_schema/formats/json_trace/json_objects.h"
#include "et_schema/formats/json_trace/sniff.h"
#include "et_schema/formats/pytorch_et/process_groups.h"
#include "et_schema/formats/pytorch_et/trace_tree.h"
#include "trace_nodes.h"

namespace understudy::et_schema {
namespace {

/// Keys that follow a node's name in one of the layouts.
constexpr std::array<std::string_view, 12> kNodeKeys = {
    "id",  "ctrl_deps", "inputs",    "outputs", "attrs",  "rf_id",
    "tid", "parent",    "fw_parent", "seq_id",  "fw_tid", "scope"};

class TraceParser {
 public:
  TraceParser(std::string_view json, Trace& trace, Arena& arena)
      : trace_(trace),
        outer_(json, check_start(json, JsonKind::kTrace), trace.losses),
        nodes_(arena, trace.losses) {}

  void parse();
  /// Sets the times that were merged, after the nodes were linked.
  void set_times(const NewIds& new_ids);

 private:
  void read_member(std::string_view key);
  void read_header(std::string_view key, JsonPull value);
  void read_nodes();
  void check_schema() const;
  void note_other(std::string_view key);

  Trace& trace_;
  OuterPull outer_;
  NodeReader nodes_;
  /// With the node; of a device's event, its parent.
  std::vector<std::pair<std::uint64_t, MergedEvent>> merged_;
  bool has_nodes_ = false;
  bool has_schema_ = false;
  std::string other_keys_;  ///< the first top-level keys that no trace has, quoted
  std::uint64_t others_ = 0;
};

[[noreturn]] void fail(std::string summary, std::string field, std::string expected,
                       std::string got, std::string hint = {}) {
  throw bad_input(std::move(summary), {.field = std::move(field),
                                       .expected = std::move(expected),
                                       .got = std::move(got),
                                       .hint = std::move(hint)});
}

/// Refuses a report or a prediction that was passed instead of a trace or a benchmark.
void refuse_own_file(std::string_view format) {
  if (format.starts_with("\"understudy-")) {
    fail("not a PyTorch execution trace: this is a result of Understudy's own", "format",
         R"(a JSON object with "schema" and "nodes")", std::string(format),
         "give the benchmark, or the traces, that it was made from");
  }
}

void TraceParser::parse() {
  const bool is_whole = outer_.read_file([this] {
    std::string_view key;
    for (bool first = true; outer_.next_member(first, key);) {
      read_member(key);
    }
  });
  if (!has_nodes_ && !has_schema_ && is_whole) {
    fail("not a PyTorch execution trace", "nodes", R"(a JSON object with "schema" and "nodes")",
         other_keys_.empty() ? "an empty object" : fmt::format("an object with {}", other_keys_),
         "give the file that torch.profiler.ExecutionTraceObserver wrote, or a Kineto profile");
  }
  if (trace_.nodes.empty()) {
    fail("a trace without nodes", "nodes", "at least one node",
         !is_whole    ? "a file cut off before the end of its first node"
         : has_nodes_ ? "an empty list"
                      : "nothing",
         "capture again: an ExecutionTraceObserver that was started and stopped writes them");
  }
  check_schema();
}

void TraceParser::note_other(std::string_view key) {
  constexpr std::uint64_t kMostNamed = 3;
  if (++others_ <= kMostNamed) {
    other_keys_ += fmt::format("{}\"{}\"", other_keys_.empty() ? "" : ", ", quote(key));
  } else if (others_ == kMostNamed + 1) {
    other_keys_ += " and more";
  }
}

void TraceParser::read_member(std::string_view key) {
  refuse_kineto_key(key);
  if (key == "nodes") {
    read_nodes();
    return;
  }
  const JsonPull value = outer_;
  const std::string_view text = outer_.skip();
  if (key == "format") {
    refuse_own_file(text);
  }
  const bool is_text = key == "schema" || key == "time";
  const bool is_number = key == "pid" || key == "start_ts" || key == "finish_ts";
  if (is_text || is_number) {
    read_header(key, value);
  } else {
    note_other(key);
  }
}

void TraceParser::read_header(std::string_view key, JsonPull value) {
  if (key == "schema" || key == "time") {
    std::string unescaped;
    std::string_view text;
    if (!value.take(text, unescaped)) {
      fail("the header cannot be read", std::string(key), "a text", describe(value));
    }
    (key == "schema" ? trace_.schema : trace_.time) = text;
    has_schema_ = has_schema_ || key == "schema";
    return;
  }
  if (!value.take(key == "pid"        ? trace_.pid
                  : key == "start_ts" ? trace_.start_ts
                                      : trace_.finish_ts)) {
    fail("the header cannot be read", std::string(key), "an integer", describe(value));
  }
}

void TraceParser::read_nodes() {
  if (has_nodes_) {
    fail("two lists of nodes", "nodes", "one list", "a second one");
  }
  has_nodes_ = true;
  read_objects(outer_, trace_.losses, {"nodes", "a node", "nodes", kNodeKeys},
               [this](JsonPull& json) {
                 MergedEvent merged;
                 const Node node = nodes_.read(json, merged);
                 merged.stream = merged.stream.value_or(static_cast<std::int64_t>(node.tid));
                 if (merged.is_device || merged.ns) {
                   merged_.emplace_back(merged.is_device ? node.parent_id : node.id, merged);
                 }
                 if (!merged.is_device) {
                   trace_.nodes.push_back(node);
                 }
               });
}

void TraceParser::set_times(const NewIds& new_ids) {
  trace_.own_times.resize(merged_.empty() ? 0 : trace_.nodes.size());
  std::vector<std::int64_t> below_ns(trace_.own_times.size());  // host time of the children
  for (const auto& [id, event] : merged_) {
    const auto new_id = new_ids.find(id);
    const NodeIndex index = trace_.find(new_id == new_ids.end() ? id : new_id->second);
    if (index == kNoNode) {
      trace_.losses.add(Loss::kMissingNodes);
      continue;
    }
    OwnTimes& times =
        trace_.own_times[index] ? *trace_.own_times[index] : trace_.own_times[index].emplace();
    const std::int64_t ns = std::max<std::int64_t>(event.ns.value_or(0), 0);
    if (event.is_device) {
      times.device_ns = sum_of(times.device_ns, ns);
      ++times.launches;
      times.stream = times.stream ? times.stream : event.stream;
    } else {
      times.start_ns = event.start_ns;
      times.self_ns = ns;
      std::int64_t& above_ns = below_ns[index == 0 ? 0 : trace_.nodes[index].parent];
      above_ns = sum_of(above_ns, ns);
    }
  }
  for (std::size_t i = 0; i < trace_.own_times.size(); ++i) {
    if (trace_.own_times[i]) {
      std::int64_t& self_ns = trace_.own_times[i]->self_ns;
      self_ns = std::max<std::int64_t>(self_ns - below_ns[i], 0);
    }
  }
}

void TraceParser::check_schema() const {
  // The version only rejects unknown schemas. Later changes of the format kept the number, so the
  // fields decide the layout.
  const std::string_view schema = trace_.schema;
  const bool is_known = schema.starts_with("1.0.") || schema.starts_with("1.1.");
  const std::string_view rest = is_known ? schema.substr(4) : std::string_view();
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const std::string_view suffix = rest.substr(digits);
  if (digits == 0 || (!suffix.empty() && !suffix.starts_with("-chakra"))) {
    fail("a schema that is not known", "schema", "1.0.x or 1.1.x, alone or with -chakra.…",
         has_schema_ ? fmt::format("\"{}\"", quote(schema)) : "nothing",
         "this version of Understudy does not read it: look for a newer one");
  }
}

}  // namespace

Trace parse_trace(std::string_view json, const std::string& file) {
  // Upper bounds of what real traces need. Reserving too much is cheap: the system commits memory
  // only when it is written.
  constexpr std::size_t kArenaShare = 2;
  constexpr std::size_t kSmallestArena = 4096;
  constexpr std::size_t kShortNode = 512;
  Trace trace;
  trace.file = file;
  trace.content_bytes = json.size();
  trace.content_hash = content_hash(json);
  trace.arena = std::make_unique<std::pmr::monotonic_buffer_resource>(
      std::max(json.size() / kArenaShare, kSmallestArena));
  trace.nodes.reserve(json.size() / kShortNode);
  Arena arena(*trace.arena);
  try {
    TraceParser parser(json, trace, arena);
    parser.parse();
    parser.set_times(link_nodes(trace, arena));
    RecordedGroups recorded = read_process_groups(trace);
    trace.process_groups = std::move(recorded.groups);
    trace.losses += recorded.losses;
  } catch (const Error& error) {
    throw error.with_file(file);
  }
  return trace;
}

}  // namespace understudy::et_schema
