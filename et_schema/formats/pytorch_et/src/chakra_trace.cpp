#include "et_schema/formats/pytorch_et/chakra_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "chakra_buffers.h"
#include "chakra_nodes.h"
#include "et_schema/base/arena.h"
#include "et_schema/base/error.h"
#include "et_schema/base/quote.h"
#include "et_schema/formats/json_trace/escaped_name.h"
#include "et_schema/formats/pytorch_et/process_groups.h"
#include "et_schema/formats/pytorch_et/trace_tree.h"
#include "et_schema/model/timed_work.h"
#include "python_text.h"
#include "trace_nodes.h"
#include "trace_values.h"

namespace understudy::et_schema {
namespace {

constexpr std::int64_t kNsPerUs = 1000;
constexpr std::int64_t kTokenBytes = 4;
/// Maximum time, about 70 years. Longer times, in damaged files, are clamped.
constexpr std::uint64_t kMostUs = std::uint64_t{1} << 51U;

std::int64_t ns_of(std::uint64_t us) {
  return static_cast<std::int64_t>(std::min(us, kMostUs)) * kNsPerUs;
}

/// Returns a time in ns from this project's attribute, or else from whole microseconds.
std::int64_t time_of(const ChakraNode& node, std::string_view attribute, std::uint64_t us) {
  const std::optional<std::int64_t> ns = node.integer(attribute);
  return ns ? std::clamp<std::int64_t>(*ns, 0, ns_of(kMostUs)) : ns_of(us);
}

/// Converts ids and thread numbers, which may be written as negative numbers.
std::uint64_t unsigned_of(const ChakraNode& node, std::string_view attribute) {
  return static_cast<std::uint64_t>(node.integer(attribute).value_or(0));
}

class TraceMaker {
 public:
  TraceMaker(const ChakraFile& file, Trace& trace, std::int64_t world_size,
             const std::vector<ProcessGroup>& groups)
      : file_(file),
        trace_(trace),
        arena_(*trace.arena),
        values_(arena_, trace.losses),
        groups_(groups),
        buffers_(arena_, world_size, file.rank, groups) {}

  void make() {
    roles_ = find_chakra_roles(file_, trace_.losses);
    if (file_.nodes.empty()) {
      throw bad_input(
          "a Chakra trace without nodes",
          {.field = "messages", .expected = "a node behind the metadata", .got = "none"});
    }
    find_shift();
    for (const std::uint32_t i : roles_.in_order) {
      if (roles_.role[i] == ChakraRole::kComm) {
        calls_.emplace(file_.nodes[i].id, comm_node(file_.nodes[i]));
      } else if (roles_.role[i] == ChakraRole::kWork) {
        work_inputs_[file_.nodes[i].id].push_back(buffers_.buffer(kTokenBytes));
      }
    }
    find_dependencies();
    for (const std::uint32_t i : roles_.in_order) {
      switch (roles_.role[i]) {
        case ChakraRole::kHost:
          if (roles_.whole[i] == i) {
            trace_.nodes.push_back(host_node(i));
          }
          break;
        case ChakraRole::kComm:
          trace_.nodes.push_back(calls_.at(file_.nodes[i].id));
          break;
        case ChakraRole::kWork:
          trace_.nodes.push_back(work_node(file_.nodes[i]));
          break;
        case ChakraRole::kTimeOnly:
          trace_.nodes.push_back(plain_node(file_.nodes[i]));
          break;
        case ChakraRole::kDevice:
          break;
      }
    }
    link_nodes(trace_, arena_);
    RecordedGroups recorded = read_process_groups(trace_);
    trace_.process_groups = recorded.groups.empty() ? groups_ : std::move(recorded.groups);
    trace_.losses += recorded.losses;
    set_times();
  }

 private:
  /// The root of an execution trace has id 1, but other writers count from 0.
  void find_shift() {
    const std::uint64_t lowest = file_.nodes[roles_.in_order.front()].id;
    const ChakraNode& last = file_.nodes[roles_.in_order.back()];
    constexpr std::uint64_t kHighest = std::numeric_limits<std::int64_t>::max();
    if (last.id > kHighest - 2) {
      throw bad_input("an id that is too large", {.node = last.id,
                                                  .field = chakra_place(last, "id"),
                                                  .expected = "below 2^63 - 2",
                                                  .got = fmt::format("{}", last.id)});
    }
    shift_ = lowest < 2 ? 2 - lowest : 0;
  }

  std::string_view name_of(std::string_view text) {
    return escaped_name(text, arena_, trace_.losses);
  }

  Node plain_node(const ChakraNode& from) {
    Node node;
    node.id = from.id + shift_;
    node.parent_id = 1;
    node.name = name_of(from.name);
    node.rf_id = unsigned_of(from, "rf_id");
    node.fw_parent = unsigned_of(from, "fw_parent");
    node.seq_id = from.integer("seq_id").value_or(-1);
    node.tid = from.find("tid") == nullptr ? 1 : unsigned_of(from, "tid");
    node.fw_tid = unsigned_of(from, "fw_tid");
    node.scope = static_cast<Scope>(std::clamp<std::int64_t>(
        from.integer("scope").value_or(0), 0, std::numeric_limits<std::uint8_t>::max()));
    return node;
  }

  Node host_node(std::uint32_t i) {
    const ChakraNode& from = file_.nodes[i];
    Node node = plain_node(from);
    if (roles_.is_cut[i]) {
      node.name = without_part(node.name);
    }
    if (roles_.parent[i] != kNoPosition) {
      node.parent_id = file_.nodes[roles_.whole[roles_.parent[i]]].id + shift_;
    }
    node.op_schema = name_of(from.text("op_schema"));
    node.kernel_backend = name_of(from.text("kernel_backend"));
    node.kernel_file = name_of(from.text("kernel_file"));
    node.tensor_range = name_of(from.text("tensor_range"));
    node.inputs = read_values(from, from.inputs, "inputs");
    node.outputs = read_values(from, from.outputs, "outputs");
    return node;
  }

  Node comm_node(const ChakraNode& from) {
    try {
      return buffers_.call_of(from, plain_node(from));
    } catch (const Error& error) {
      throw with_node(error, from, error.context().field);
    }
  }

  /// Work writes a buffer of its own, those of the work and communication that it needs, and those
  /// of the communication that needs it: so their order is that of memory.
  void find_dependencies() {
    for (const ChakraNode& node : file_.nodes) {
      const auto work = work_inputs_.find(node.id);
      const auto call = calls_.find(node.id);
      const auto need = [&](std::uint64_t needed) {
        const auto needed_work = work_inputs_.find(needed);
        const auto needed_call = calls_.find(needed);
        if (work != work_inputs_.end() && needed_work != work_inputs_.end()) {
          work->second.push_back(needed_work->second.front());
        } else if (work != work_inputs_.end() && needed_call != calls_.end()) {
          add_buffer(needed_call->second, false, work->second);
        } else if (call != calls_.end() && needed_work != work_inputs_.end()) {
          add_buffer(call->second, true, needed_work->second);
        }
      };
      std::ranges::for_each(node.data_deps, need);
      std::ranges::for_each(node.ctrl_deps, need);  // an order between a simulator's nodes
    }
  }

  /// Adds the buffer that a call reads, or the one that it writes; the other if it has only that.
  static void add_buffer(const Node& call, bool read, std::vector<Value>& into) {
    const std::span<const Value> inputs = call.inputs.front().items();
    const std::span<const Value> buffers = (read ? inputs : call.outputs).empty()
                                               ? (read ? call.outputs : inputs)
                                               : (read ? inputs : call.outputs);
    if (!buffers.empty()) {
      into.push_back(buffers.front());
    }
  }

  Node work_node(const ChakraNode& from) {
    Node node = plain_node(from);
    std::string name = std::string(kTimedWork) + std::string(from.name);
    std::replace_if(
        name.begin() + static_cast<std::ptrdiff_t>(kTimedWork.size()), name.end(),
        [](unsigned char letter) { return std::isalnum(letter) == 0; }, '_');
    node.op_schema = arena_.copy(name + "(Tensor(a!)[] needs, int num_ops, int tensor_size) -> ()");
    node.name = node.op_schema.substr(0, name.size());
    const std::array<Value, 3> inputs = {
        Value::of_items(ValueKind::kList, arena_.copy<Value>(work_inputs_.at(from.id))),
        Value::of(from.integer("num_ops").value_or(0)),
        Value::of(from.integer("tensor_size").value_or(0))};
    node.inputs = arena_.copy<Value>(inputs);
    return node;
  }

  static Error with_node(const Error& error, const ChakraNode& node, std::string_view field) {
    ErrorContext context = error.context();
    context.node = node.id;
    context.field = chakra_place(node, field);
    return bad_input(error.summary(), std::move(context));
  }

  std::span<const Value> read_values(const ChakraNode& node, const ChakraValues& from,
                                     std::string_view side) {
    if (from.types.empty() && from.values.empty()) {
      return {};
    }
    const std::string_view strides =
        node.text(side == "inputs" ? "input_strides" : "output_strides");
    std::string_view part;
    document_.clear();
    const auto add = [&](std::string_view name, std::string_view python) {
      part = name;
      const std::size_t begin = document_.size();
      append_json_of_python(document_, python);
      return begin;
    };
    try {
      const std::size_t values = add("values", from.values);
      const std::size_t shapes = add("shapes", from.shapes);
      const std::size_t types = add("types", from.types);
      const std::size_t layouts = add("strides", strides);
      part = "";
      return parse_values(side, {JsonPull(document_, values), JsonPull(document_, shapes),
                                 JsonPull(document_, types), JsonPull(document_, layouts),
                                 node.integer("strides_told") == 1});
    } catch (const Error& error) {
      throw with_node(error, node,
                      part.empty() ? error.context().field : fmt::format("{}.{}", side, part));
    }
  }

  std::span<const Value> parse_values(std::string_view side, const ValueArrays& arrays) {
    try {
      return values_.read(arrays, side);
    } catch (const JsonDamage&) {
      throw bad_input("a list in the form of Python's text is damaged",
                      {.field = std::string(side),
                       .expected = "lists of values, shapes and types",
                       .got = quote(document_)});
    }
  }

  // ---- times

  void set_times() {
    const bool has_times = std::ranges::any_of(
        file_.nodes, [](const ChakraNode& node) { return node.duration_us > 0; });
    if (!has_times) {
      return;
    }
    const bool has_starts = std::ranges::any_of(file_.nodes, [](const ChakraNode& node) {
      return node.start_us > 0 || node.find("start_ns") != nullptr;
    });
    trace_.own_times.resize(trace_.nodes.size());
    for (const std::uint32_t i : roles_.in_order) {
      const bool is_time_only = roles_.role[i] == ChakraRole::kTimeOnly;
      const bool is_device = roles_.role[i] == ChakraRole::kDevice ||
                             (is_time_only && file_.nodes[i].integer("is_cpu_op") == 0);
      const bool is_untimed_call =
          roles_.role[i] == ChakraRole::kComm && file_.nodes[i].duration_us == 0;
      if (!is_timed(file_.nodes[i]) || (is_time_only && !is_device) || is_untimed_call) {
        continue;
      }
      const std::uint32_t owner = roles_.whole[is_device && !is_time_only ? roles_.launcher[i] : i];
      const NodeIndex index = trace_.find(file_.nodes[owner].id + shift_);
      std::optional<OwnTimes>& times = trace_.own_times[index];
      if (!times) {
        times.emplace();
      }
      if (is_device) {
        add_device(file_.nodes[i], *times);
      } else {
        add_host(file_.nodes[i], has_starts, *times);
      }
    }
    if (!has_starts) {
      trace_.losses.add(
          Loss::kAssumedStarts,
          static_cast<std::uint64_t>(std::ranges::count_if(
              trace_.own_times, [](const auto& times) { return times.has_value(); })));
    }
    if (const ChakraAttribute* step = file_.find("step_ns")) {
      trace_.own_step_ns = integer_of(*step);
    }
    if (const ChakraAttribute* length = file_.find("step_length_ns")) {
      trace_.own_length_ns = integer_of(*length).value_or(0);
    }
  }

  /// Returns false for nodes without a recorded time, which only files of this project mark.
  [[nodiscard]] bool is_timed(const ChakraNode& node) const {
    const bool is_ours = file_.find("writer") != nullptr;
    return !is_ours || node.find("host_ns") != nullptr || node.find("device_ns") != nullptr;
  }

  static void add_host(const ChakraNode& node, bool has_starts, OwnTimes& times) {
    times.self_ns = sum_of(times.self_ns, time_of(node, "host_ns", node.duration_us));
    if (has_starts && !times.start_ns) {
      times.start_ns = time_of(node, "start_ns", node.start_us);
    }
    if (const std::optional<std::int64_t> faults = node.integer("page_faults")) {
      times.page_faults = std::max<std::int64_t>(*faults, 0);
    }
  }

  static void add_device(const ChakraNode& node, OwnTimes& times) {
    constexpr std::int64_t kMostLaunches = std::int64_t{1} << 40U;
    times.device_ns = sum_of(times.device_ns, time_of(node, "device_ns", node.duration_us));
    times.launches += static_cast<std::uint64_t>(
        std::clamp<std::int64_t>(node.integer("launches").value_or(1), 1, kMostLaunches));
    if (!times.stream) {
      const std::optional<std::int64_t> stream = node.integer("stream");
      times.stream = stream ? stream : node.integer("tid");
    }
  }

  const ChakraFile& file_;
  Trace& trace_;
  Arena arena_;
  ValueReader values_;
  const std::vector<ProcessGroup>& groups_;
  ChakraBuffers buffers_;
  ChakraRoles roles_;
  std::map<std::uint64_t, Node> calls_;                      ///< by id
  std::map<std::uint64_t, std::vector<Value>> work_inputs_;  ///< by id; its own buffer first
  std::string document_;
  std::uint64_t shift_ = 0;
};

/// Returns "chakra 0.0.4" or "chakra of 1.0.1": the version of the Chakra schema or of the
/// converted trace's, if recorded.
std::string schema_of(const ChakraFile& file) {
  std::string schema = "chakra";
  if (!file.version.empty()) {
    schema += " " + file.version;
  }
  const ChakraAttribute* recorded = file.find("schema");
  if (recorded != nullptr && recorded->arm == ChakraArm::kString) {
    schema += " of " + std::string(recorded->text);
  }
  return schema;
}

std::int64_t integer_of(const ChakraFile& file, std::string_view name) {
  const ChakraAttribute* attribute = file.find(name);
  return attribute == nullptr ? 0 : integer_of(*attribute).value_or(0);
}

}  // namespace

Trace trace_of_chakra(ChakraFile file, std::int64_t world_size,
                      const std::vector<ProcessGroup>& groups) {
  Trace trace;
  trace.file = file.file;
  trace.content_bytes = file.content_bytes;
  trace.content_hash = file.content_hash;
  trace.rank = file.rank;
  trace.schema = schema_of(file);
  trace.pid = integer_of(file, "pid");
  trace.start_ts = integer_of(file, "start_ts");
  trace.finish_ts = integer_of(file, "finish_ts");
  if (const ChakraAttribute* time = file.find("time")) {
    trace.time = time->text;
  }
  trace.arena = std::move(file.arena);  // holds the nodes' texts
  try {
    TraceMaker(file, trace, world_size, groups).make();
  } catch (const Error& error) {
    throw error.with_file(trace.file);
  }
  return trace;
}

}  // namespace understudy::et_schema
