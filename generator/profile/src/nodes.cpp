#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>

#include "et_schema/base/arena.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/formats/pytorch_et/trace_tree.h"
#include "et_schema/model/slot_extent.h"
#include "generator/flow/model_names.h"
#include "walk.h"

namespace understudy::generator {
namespace {

/// The process root has id 1; threads follow.
constexpr std::uint64_t kFirstId = 2;

enum class ReturnKind : std::uint8_t { kTensor, kTensors, kOther };

/// Returns the kind of each result: "(Tensor, Tensor[] grads, int)".
std::vector<ReturnKind> returns_of_schema(std::string_view schema) {
  std::string_view returns = et_schema::returns_of(schema);
  std::vector<ReturnKind> kinds;
  if (returns.starts_with('(')) {
    returns = returns.substr(1, returns.size() - 2);
  }
  while (!returns.empty()) {
    const std::size_t comma = std::min(returns.find(','), returns.size());
    const std::string_view one = returns.substr(0, comma);
    kinds.push_back(one.find("Tensor") == std::string_view::npos ? ReturnKind::kOther
                    : one.find('[') == std::string_view::npos    ? ReturnKind::kTensor
                                                                 : ReturnKind::kTensors);
    returns.remove_prefix(std::min(comma + 1, returns.size()));
  }
  return kinds;
}

/// Returns the device of the profile's process, which kernels record as their process.
et_schema::Device device_of(const HostEvents& host, const et_schema::DeviceTimeline& device) {
  const auto first =
      std::ranges::find_if(device.events, [&host](const et_schema::DeviceEvent& event) {
        return host.event_of(event.launcher) != kNoEvent;
      });
  const std::int64_t index = first == device.events.end() ? 0 : host.sources[first->source].pid;
  const bool is_index = index >= 0 && index <= std::numeric_limits<std::int8_t>::max();
  return {et_schema::DeviceType::kCuda, static_cast<std::int8_t>(is_index ? index : 0)};
}

class NodeMaker {
 public:
  NodeMaker(const HostEvents& host, const et_schema::DeviceTimeline& device,
            std::vector<Call>& calls, Walked& walked, Trace& trace)
      : host_(host),
        device_(device),
        calls_(calls),
        walked_(walked),
        trace_(trace),
        arena_(*trace.arena),
        device_place_(device_of(host, device)),
        device_name_(arena_.copy(et_schema::to_string(device_place_))),
        id_of_(calls.size()) {}

  void make() {
    fill_tensors();
    find_forward_threads();
    add_roots();
    for (std::size_t i = 0; i < walked_.order.size(); ++i) {
      id_of_[walked_.order[i]] = kFirstId + host_.threads.size() + i;
    }
    for (const HostIndex event : walked_.order) {
      add_node(event);
    }
    et_schema::link_nodes(trace_, arena_);
  }

 private:
  /// Writes identities and devices into the tensors of all nodes.
  void fill_tensors() {
    for (HostIndex i = 0; i < calls_.size(); ++i) {
      add_outputs(calls_[i], walked_.of_call[i].results);
    }
    find_devices(host_, device_, walked_.of_call, walked_.tensors);
    for (const Use& use : walked_.uses) {
      fill(*use.tensor, use.seen);
    }
    for (const Call& call : calls_) {
      fill_devices(call);
    }
  }

  /// Returns the results of a call as values: one for each result of the schema, lists as lists.
  void add_outputs(Call& call, std::span<const SeenIndex> results) {
    if (call.communicates) {
      return;
    }
    std::size_t next = 0;
    std::size_t list = 0;
    const std::vector<int>& lists = call.told.list_sizes;
    std::size_t alone = results.size() - std::accumulate(lists.begin(), lists.end(), 0U);
    std::vector<Value> values;
    const auto take = [&] {
      Tensor* tensor = arena_.make(Tensor{});
      tensor->has_strides = true;
      tensor->sizes = walked_.tensors[results[next]].sizes;
      tensor->strides = walked_.tensors[results[next]].strides;
      tensor->numel = et_schema::element_count(tensor->sizes);
      walked_.uses.push_back({tensor, results[next++]});
      return Value::of(tensor);
    };
    for (const ReturnKind kind : returns_of_schema(call.recorded.schema)) {
      if (kind == ReturnKind::kTensors && list < lists.size()) {
        const std::span<Value> items = arena_.array<Value>(static_cast<std::size_t>(lists[list++]));
        std::ranges::generate(items, take);
        values.push_back(Value::of_items(ValueKind::kList, items));
      } else if (kind == ReturnKind::kTensor && alone > 0) {
        --alone;
        values.push_back(take());
      } else {
        values.emplace_back();
      }
    }
    call.recorded.outputs = arena_.copy<Value>(values);
  }

  /// Sets a device argument to the device of the results.
  void fill_devices(const Call& call) {
    const std::span<const SeenIndex> results = walked_.of_call[call.event].results;
    for (std::size_t i = 0; i < call.recorded.arguments.size() && !results.empty(); ++i) {
      const bool is_device = call.recorded.arguments[i].type.starts_with("Device");
      if (is_device && call.recorded.inputs[i].is(ValueKind::kNone)) {
        const bool on_cpu = walked_.tensors.storage_of(results.front()).on_cpu;
        call.recorded.inputs[i] = Value::of_text(ValueKind::kDevice, on_cpu ? "cpu" : device_name_);
      }
    }
  }

  /// Finds the forward threads. Autograd numbers its nodes by thread: the thread that called an
  /// operator with a number owns the node of that number.
  void find_forward_threads() {
    for (const Call& call : calls_) {
      const std::int64_t sequence = host_.source(call.event).sequence;
      if (sequence >= 0 && !call.is_backward) {
        forward_thread_.insert_or_assign(sequence, call.thread);
      }
    }
  }

  void add_roots() {
    Node root;
    root.id = root.parent_id = 1;
    root.scope = et_schema::Scope::kUserScope;
    root.name = "[pytorch|profiler|execution_trace|process]";
    trace_.nodes.reserve(1 + host_.threads.size() + calls_.size());
    trace_.nodes.push_back(root);
    root.name = "[pytorch|profiler|execution_trace|thread]";
    for (std::size_t i = 0; i < host_.threads.size(); ++i) {
      root.id = kFirstId + i;
      root.tid = i + 1;
      trace_.nodes.push_back(root);
    }
  }

  void add_node(HostIndex index) {
    const Call& call = calls_[index];
    const et_schema::KinetoEvent& event = host_.source(index);
    const HostIndex parent = host_.events[index].parent;
    Node node;
    node.id = id_of_[index];
    node.parent_id = parent == kNoEvent ? kFirstId + call.thread : id_of_[parent];
    node.rf_id = static_cast<std::uint64_t>(event.rf_id);
    node.seq_id = event.sequence;
    node.tid = call.thread + 1;
    node.scope = !host_.events[index].is_operator ? et_schema::Scope::kUserScope
                 : call.is_backward               ? et_schema::Scope::kBackwardFunction
                                                  : et_schema::Scope::kFunction;
    if (const auto forward = forward_thread_.find(event.sequence);
        call.is_backward && forward != forward_thread_.end()) {
      node.fw_tid = forward->second + 1;
    }
    node.name = text(event.name);
    node.op_schema = call.recorded.schema;
    if (call.is_kernel) {
      node.kernel_backend = event.kernel_backend.empty() ? "unknown" : text(event.kernel_backend);
      node.kernel_file = text(event.kernel_file);
    }
    if (!node.op_schema.empty() || call.is_kernel || call.communicates) {
      node.inputs = call.recorded.inputs;
      node.outputs = call.recorded.outputs;
    }
    trace_.nodes.push_back(node);
  }

  /// Returns a copy of a text of the profile. Equal texts share an address.
  std::string_view text(std::string_view of_profile) {
    auto [found, is_new] = texts_.try_emplace(of_profile);
    if (is_new) {
      found->second = arena_.copy(of_profile);
    }
    return found->second;
  }

  void fill(Tensor& tensor, SeenIndex index) {
    const SeenTensor& seen = walked_.tensors[index];
    const SeenStorage& storage = walked_.tensors.storage(seen.storage);
    if (seen.dtype == et_schema::DType::kUndefined) {
      tensor = {};
      return;
    }
    tensor.sizes = seen.sizes;
    tensor.strides = seen.strides;
    tensor.has_strides = true;
    tensor.dtype = seen.dtype;
    tensor.item_bytes = et_schema::item_size(seen.dtype);
    // Ids of tensors and of storages are disjoint, as in traces.
    tensor.tensor_id = 2 * static_cast<std::int64_t>(index) + 1;
    tensor.storage_id = 2 * (static_cast<std::int64_t>(seen.storage) + 1);
    tensor.storage_offset = seen.offset;
    if (seen.strides.size() != seen.sizes.size()) {  // sparse: zeros, and no storage, as in traces
      const std::span<std::int64_t> zeros = arena_.array<std::int64_t>(seen.sizes.size());
      std::ranges::fill(zeros, 0);
      tensor.strides = zeros;
      tensor.storage_id = tensor.storage_offset = tensor.numel = tensor.item_bytes = 0;
      tensor.device = {};
      return;
    }
    tensor.device =
        storage.on_cpu ? et_schema::Device{et_schema::DeviceType::kCpu, -1} : device_place_;
  }

  const HostEvents& host_;
  const et_schema::DeviceTimeline& device_;
  std::vector<Call>& calls_;
  Walked& walked_;
  Trace& trace_;
  et_schema::Arena arena_;
  et_schema::Device device_place_;
  std::string_view device_name_;
  std::vector<std::uint64_t> id_of_;                      ///< of the node, by host event
  std::map<std::int64_t, std::uint32_t> forward_thread_;  ///< by sequence number
  std::map<std::string_view, std::string_view> texts_;
};

}  // namespace

void add_nodes(const HostEvents& host, const et_schema::DeviceTimeline& device,
               std::vector<Call>& calls, Walked& walked, Trace& trace) {
  NodeMaker(host, device, calls, walked, trace).make();
}

}  // namespace understudy::generator
