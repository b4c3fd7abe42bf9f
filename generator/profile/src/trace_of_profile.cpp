#include "generator/profile/trace_of_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "calls.h"
#include "devices.h"
#include "et_schema/model/schema_text.h"
#include "et_schema/model/slot_extent.h"
#include "et_schema/pytorch_et/trace_tree.h"
#include "et_schema/support/arena.h"
#include "et_schema/support/error.h"
#include "identity.h"
#include "optimizer.h"
#include "tensors.h"
#include "timeline.h"

namespace understudy::generator {
namespace {

using et_schema::Arena;
using et_schema::KinetoEvent;
using et_schema::Loss;
using et_schema::Node;
using et_schema::Profile;
using et_schema::Tensor;
using et_schema::Trace;
using et_schema::Value;
using et_schema::ValueKind;

/// The process root has id 1, threads follow.
constexpr std::uint64_t kFirstId = 2;

enum class ReturnKind : std::uint8_t { kTensor, kTensors, kOther };

/// "(Tensor, Tensor[] grads, int)" → what each is.
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

bool is_product_node(std::string_view label) {
  constexpr std::array<std::string_view, 5> kProducts = {
      "AddmmBackward", "MmBackward", "BmmBackward", "BaddbmmBackward", "LinearBackward"};
  return std::ranges::any_of(kProducts,
                             [label](std::string_view name) { return label.starts_with(name); });
}

std::int64_t begin_of_backward(const HostEvents& host, std::span<const Call> calls) {
  std::int64_t begin_ns = kLatestNs;
  for (const Call& call : calls) {
    if (call.is_backward) {
      begin_ns = std::min(begin_ns, host.events[call.event].start_ns);
    }
  }
  return begin_ns;
}

/// Walks through the calls in time, gives each tensor its identity, and makes the nodes.
class Maker {
 public:
  Maker(const Profile& profile, const HostEvents& host, const DeviceEvents& device,
        std::vector<Call>& calls, Trace& trace)
      : profile_(profile),
        host_(host),
        device_(device),
        calls_(calls),
        trace_(trace),
        arena_(*trace.arena),
        allocations_(profile, host),
        identity_(tensors_, begin_of_backward(host, calls)),
        optimizer_(tensors_),
        frames_(host.threads.size()),
        call_tensors_(calls.size()),
        id_of_(calls.size()) {
    begun_.reserve(calls.size());
  }

  void walk() {
    for (const Moment& moment : moments(host_)) {
      ++moment_;
      moment.is_begin ? begin(moment.event) : end(moment.event);
    }
    fill_tensors();
    find_forward_threads();
    add_roots();
    for (const HostIndex event : begun_) {
      add_node(event);
    }
    et_schema::link_nodes(trace_, arena_);
  }

 private:
  [[nodiscard]] const KinetoEvent& event_of(HostIndex index) const {
    return profile_.events[host_.events[index].source];
  }

  void begin(HostIndex index) {
    id_of_[index] = kFirstId + host_.threads.size() + begun_.size();
    begun_.push_back(index);
    Call& call = calls_[index];
    std::vector<Frame>& open = frames_[call.thread];
    Frame frame;
    frame.event = index;
    frame.begun = moment_;
    frame.is_operator = !call.recorded.schema.empty();
    if (!open.empty()) {
      frame.is_backward = open.back().is_backward;
      frame.is_optimizer = open.back().is_optimizer;
    }
    frame.is_backward = frame.is_backward || call.is_backward;
    frame.is_optimizer = frame.is_optimizer || event_of(index).name.starts_with("Optimizer.step#");
    frame.is_product = frame.is_backward && is_product_node(event_of(index).name);
    if (const auto saved = saved_.find(event_of(index).sequence);
        call.is_backward && saved != saved_.end()) {
      frame.saved = &saved->second;
    }
    frame.inputs = find_inputs(call, open);
    open.push_back(std::move(frame));
  }

  std::vector<SeenIndex> find_inputs(Call& call, std::span<const Frame> open) {
    std::vector<SeenIndex> found;
    const std::vector<Tensor*>& wanted = call.recorded.tensors;
    found.reserve(wanted.size());
    const bool is_update = !call.recorded.schema.empty() && !open.empty() &&
                           open.back().is_optimizer && !open.back().is_operator;
    std::vector<OptimizerStep::Operand> operands;
    if (is_update) {
      operands = optimizer_.operands(call, next_name(call));
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const SeenIndex index = find_input(
          call, i, open, found, i < operands.size() ? operands[i] : OptimizerStep::Operand{});
      found.push_back(index);
    }
    for (const SeenIndex index : found) {
      tensors_[index].used = moment_;
    }
    type_lists(call, found);
    optimizer_.began(call, operands, found);
    if (event_of(call.event).name == "torch::autograd::AccumulateGrad" && found.size() == 1) {
      optimizer_.add_gradient(found.front());
    }
    return found;
  }

  SeenIndex find_input(const Call& call, std::size_t position, std::span<const Frame> open,
                       std::span<const SeenIndex> taken, OptimizerStep::Operand operand) {
    Tensor& tensor = *call.recorded.tensors[position];
    const TensorRole& argument = call.role_of[position];
    const Wanted wanted{tensor.sizes,
                        tensor.strides,
                        argument.is_untyped ? et_schema::DType::kUndefined : tensor.dtype,
                        argument.name,
                        event_of(call.event).name,
                        argument.is_written,
                        call.recorded.schema.empty() && is_in_backward(call, open)};
    if (const SeenIndex given = given_by_caller(call, tensor, open); given != kNotSeen) {
      uses_.push_back({&tensor, given});
      return given;
    }
    Identity::Choice choice{operand.tensor, Told::kInferred};
    if (operand.kind == OptimizerStep::Kind::kOther) {
      choice = identity_.find(wanted, open, taken, host_.events[call.event].start_ns, call.next_ns);
    }
    if (choice.tensor == kNotSeen) {
      choice.tensor = add_external(tensor, wanted, open);
      trace_.losses.add(Loss::kExternalTensors);
    } else if (choice.told == Told::kInferred) {
      trace_.losses.add(Loss::kInferredTensors);
    }
    uses_.push_back({&tensor, choice.tensor});
    return choice.tensor;
  }

  /// The tensors of a list have one element type: that of those which operators made. What is older
  /// than the profile, and was met here first, has it too.
  void type_lists(const Call& call, std::span<const SeenIndex> found) {
    std::optional<et_schema::DType> made;
    for (std::size_t i = 0; i < found.size() && !made; ++i) {
      if (call.role_of[i].is_untyped && tensors_[found[i]].born != moment_) {
        made = tensors_[found[i]].dtype;
      }
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!call.role_of[i].is_untyped) {
        continue;
      }
      SeenTensor& tensor = tensors_[found[i]];
      if (made && tensor.born == moment_) {
        SeenStorage& storage = tensors_.storage(tensor.storage);
        storage.bytes =
            storage.bytes / et_schema::item_size(tensor.dtype) * et_schema::item_size(*made);
        tensor.dtype = *made;
      }
      call.recorded.tensors[i]->dtype = tensor.dtype;
    }
  }

  /// The operator behind the call on its thread, without namespace; empty where there is none.
  [[nodiscard]] std::string_view next_name(const Call& call) const {
    const HostIndex end = host_.threads[call.thread].end;
    HostIndex next = call.event + 1;
    while (next < end && host_.events[next].start_ns < host_.events[call.event].end_ns) {
      ++next;
    }
    return next < end ? et_schema::without_namespace(event_of(next).name) : std::string_view();
  }

  static bool is_in_backward(const Call& call, std::span<const Frame> open) {
    return call.is_backward || (!open.empty() && open.back().is_backward);
  }

  /// A communication knows the number of elements alone; the c10d operator around it has the
  /// tensors.
  SeenIndex given_by_caller(const Call& call, const Tensor& tensor, std::span<const Frame> open) {
    if (!call.communicates || open.empty()) {
      return kNotSeen;
    }
    const std::vector<SeenIndex>& given = open.back().inputs;
    const auto found = std::ranges::find_if(given, [&](SeenIndex index) {
      std::int64_t elements = 1;
      for (const std::int64_t size : tensors_[index].sizes) {
        elements *= size;
      }
      return elements == tensor.numel && tensors_[index].dtype == tensor.dtype;
    });
    return found == given.end() ? kNotSeen : *found;
  }

  SeenIndex add_external(const Tensor& tensor, const Wanted& wanted, std::span<const Frame> open) {
    SeenTensor seen;
    seen.sizes = tensor.sizes;
    seen.strides = strides_of(tensor);
    seen.dtype = tensor.dtype;
    seen.born = moment_;
    seen.is_visible = true;
    seen.is_parameter = is_parameter_name(wanted.argument);
    SeenStorage storage;
    storage.is_external = true;
    storage.bytes = extent_bytes(seen.sizes, seen.strides, 0, tensor.item_bytes);
    seen.storage = tensors_.add_storage(storage);
    const SeenIndex index = tensors_.add(seen);
    if (!open.empty() && open.back().is_operator) {
      tensors_[index].is_visible = false;
    }
    return index;
  }

  std::span<const std::int64_t> strides_of(const Tensor& tensor) {
    return tensor.has_strides ? tensor.strides : place(et_schema::contiguous_strides(tensor.sizes));
  }

  std::span<const std::int64_t> place(std::span<const std::int64_t> numbers) {
    const std::span<std::int64_t> placed = arena_.array<std::int64_t>(numbers.size());
    std::ranges::copy(numbers, placed.begin());
    return placed;
  }

  void end(HostIndex index) {
    Call& call = calls_[index];
    std::vector<Frame>& open = frames_[call.thread];
    Frame frame = std::move(open.back());
    open.pop_back();
    const std::vector<SeenIndex> results = find_results(call, frame);
    call_tensors_[index] = {frame.inputs, results};
    const bool is_visible =
        std::ranges::none_of(open, [](const Frame& around) { return around.is_operator; });
    for (const SeenIndex result : results) {
      tensors_[result].is_visible = tensors_[result].is_visible || is_visible;
      tensors_[result].in_backward = tensors_[result].in_backward || frame.is_backward;
    }
    const std::int64_t sequence = event_of(index).sequence;
    if (sequence >= 0 && !frame.is_backward) {
      save(call, frame, results, saved_[sequence]);
    }
    if (!open.empty()) {
      std::vector<SeenIndex>& made = open.back().made;
      made.insert(made.end(), results.begin(), results.end());
      if (!frame.is_operator) {
        made.insert(made.end(), frame.made.begin(), frame.made.end());
      }
    }
  }

  static void save(const Call& call, const Frame& frame, std::span<const SeenIndex> results,
                   std::vector<Saved>& saved) {
    saved.clear();
    for (const SeenIndex made : frame.made) {
      saved.push_back({made, {}});
    }
    for (std::size_t i = 0; i < frame.inputs.size(); ++i) {
      saved.push_back({frame.inputs[i], i < call.role_of.size() ? call.role_of[i].name : ""});
    }
    for (const SeenIndex result : results) {
      saved.push_back({result, {}});
    }
  }

  std::vector<SeenIndex> find_results(Call& call, const Frame& frame) {
    std::vector<SeenIndex> results;
    for (const ResultTensor& result : call.told.tensors) {
      results.push_back(find_result(call, frame, result, results));
    }
    return results;
  }

  SeenIndex find_result(const Call& call, const Frame& frame, const ResultTensor& result,
                        std::span<const SeenIndex> taken) {
    if (result.same_as >= 0) {
      const SeenIndex same = frame.inputs[static_cast<std::size_t>(result.same_as)];
      SeenTensor& written = tensors_[same];
      if (!frame.is_backward && !tensors_.storage(written.storage).is_external) {
        written.born = moment_;  // what it holds is new, and nobody has read it
        written.used = 0;
        written.maker = event_of(call.event).name;
      }
      return same;
    }
    SeenTensor seen;
    seen.sizes = place(result.sizes);
    seen.strides = place(result.strides);
    seen.dtype = dtype_of(call, result);
    seen.born = moment_;
    seen.offset = result.offset_from;
    seen.maker = event_of(call.event).name;
    const bool is_view = result.storage_of >= 0;
    if (is_view) {
      const SeenTensor& base = tensors_[frame.inputs[static_cast<std::size_t>(result.storage_of)]];
      seen.storage = base.storage;
      seen.offset += result.offset_is_absolute ? 0 : base.offset;
    }
    const SeenIndex made = find_made(call, frame, seen, is_view, taken);
    if (made != kNotSeen) {
      return made;
    }
    const HostEvent& event = host_.events[call.event];
    const std::int64_t item_bytes = et_schema::item_size(seen.dtype);
    if (!is_view) {
      SeenStorage storage;
      storage.bytes = extent_bytes(seen.sizes, seen.strides, seen.offset, item_bytes);
      if (const auto found = allocations_.claim(event.start_ns, event.end_ns, storage.bytes)) {
        storage.freed_ns = found->freed_ns;
        storage.on_cpu = found->on_cpu;
        storage.sign = DeviceSign::kAllocation;
      }
      seen.storage = tensors_.add_storage(storage);
    } else {
      SeenStorage& storage = tensors_.storage(seen.storage);
      storage.bytes =
          std::max(storage.bytes, extent_bytes(seen.sizes, seen.strides, seen.offset, item_bytes));
    }
    return tensors_.add(seen);
  }

  /// The tensor of those that the call's children made which the call hands on.
  SeenIndex find_made(const Call& call, const Frame& frame, const SeenTensor& result, bool is_view,
                      std::span<const SeenIndex> taken) {
    const std::int64_t end_ns = host_.events[call.event].end_ns;
    SeenIndex best = kNotSeen;
    bool best_has_strides = false;
    for (std::size_t i = frame.made.size(); i-- > 0;) {
      const SeenIndex index = frame.made[i];
      const SeenTensor& made = tensors_[index];
      const SeenStorage& storage = tensors_.storage(made.storage);
      const bool is_it =
          std::ranges::equal(made.sizes, result.sizes) && made.dtype == result.dtype &&
          std::ranges::find(taken, index) == taken.end() &&
          (is_view ? made.storage == result.storage && made.offset == result.offset &&
                         std::ranges::equal(made.strides, result.strides)
                   : !is_input(frame, made.storage) && storage.freed_ns >= end_ns);
      const bool has_strides = std::ranges::equal(made.strides, result.strides);
      if (is_it && (best == kNotSeen || (has_strides && !best_has_strides))) {
        best = index;
        best_has_strides = has_strides;
      }
    }
    return best;
  }

  bool is_input(const Frame& frame, StorageIndex storage) {
    return std::ranges::any_of(frame.inputs,
                               [&](SeenIndex input) { return tensors_[input].storage == storage; });
  }

  // ---- nodes

  /// Writes identities and devices into the tensors of all nodes.
  void fill_tensors() {
    for (HostIndex i = 0; i < calls_.size(); ++i) {
      add_outputs(calls_[i], call_tensors_[i].results);
    }
    find_devices(profile_, device_, call_tensors_, tensors_);
    for (const Use& use : uses_) {
      fill(*use.tensor, use.seen);
    }
    for (const Call& call : calls_) {
      fill_devices(call);
    }
  }

  /// The results of a call as values: one for each that the schema names, lists as lists.
  void add_outputs(Call& call, std::span<const SeenIndex> results) {
    if (call.communicates) {
      return;
    }
    std::size_t next = 0;
    std::size_t list = 0;
    std::vector<Value> values;
    const auto take = [&] {
      Tensor* tensor = arena_.make(Tensor{});
      tensor->numel = 1;
      tensor->has_strides = true;
      tensor->sizes = tensors_[results[next]].sizes;
      tensor->strides = tensors_[results[next]].strides;
      for (const std::int64_t size : tensor->sizes) {
        tensor->numel *= size;
      }
      uses_.push_back({tensor, results[next++]});
      return Value::of(tensor);
    };
    for (const ReturnKind kind : returns_of_schema(call.recorded.schema)) {
      if (kind == ReturnKind::kTensors && list < call.told.list_sizes.size()) {
        const std::span<Value> items =
            arena_.array<Value>(static_cast<std::size_t>(call.told.list_sizes[list++]));
        std::ranges::generate(items, take);
        values.push_back(Value::of_items(ValueKind::kList, items));
      } else if (kind == ReturnKind::kTensor && next < results.size()) {
        values.push_back(take());
      } else {
        values.emplace_back();
      }
    }
    const std::span<Value> placed = arena_.array<Value>(values.size());
    std::ranges::copy(values, placed.begin());
    call.outputs = placed;
  }

  /// A device among the arguments is that of the results.
  void fill_devices(const Call& call) {
    const std::span<const SeenIndex> results = call_tensors_[call.event].results;
    for (std::size_t i = 0; i < call.recorded.arguments.size() && !results.empty(); ++i) {
      const bool is_device = call.recorded.arguments[i].type.starts_with("Device");
      if (is_device && call.recorded.inputs[i].is(ValueKind::kNone)) {
        const bool on_cpu = tensors_.storage_of(results.front()).on_cpu;
        call.recorded.inputs[i] = Value::of_text(ValueKind::kDevice, on_cpu ? "cpu" : "cuda:0");
      }
    }
  }

  /// Autograd numbers its nodes on each thread: the thread that called an operator with a number
  /// is the one that the node of that number belongs to.
  void find_forward_threads() {
    for (const Call& call : calls_) {
      const std::int64_t sequence = event_of(call.event).sequence;
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
    const KinetoEvent& event = event_of(index);
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
      node.outputs = call.outputs;
    }
    trace_.nodes.push_back(node);
  }

  /// A copy of a text of the profile; equal ones lie at one place.
  std::string_view text(std::string_view of_profile) {
    auto [found, is_new] = texts_.try_emplace(of_profile);
    if (is_new) {
      found->second = arena_.copy(of_profile);
    }
    return found->second;
  }

  struct Use {
    Tensor* tensor = nullptr;
    SeenIndex seen = kNotSeen;
  };

  void fill(Tensor& tensor, SeenIndex index) {
    const SeenTensor& seen = tensors_[index];
    const SeenStorage& storage = tensors_.storage(seen.storage);
    tensor.sizes = seen.sizes;
    tensor.strides = seen.strides;
    tensor.has_strides = true;
    tensor.dtype = seen.dtype;
    tensor.item_bytes = et_schema::item_size(seen.dtype);
    // Ids of tensors and of storages are different numbers, as in traces.
    tensor.tensor_id = 2 * static_cast<std::int64_t>(index) + 1;
    tensor.storage_id = 2 * (static_cast<std::int64_t>(seen.storage) + 1);
    tensor.storage_offset = seen.offset;
    if (seen.strides.size() != seen.sizes.size()) {  // sparse: recorded without storage
      tensor.storage_id = tensor.storage_offset = tensor.numel = tensor.item_bytes = 0;
      tensor.device = {};
      return;
    }
    tensor.device = storage.on_cpu ? et_schema::Device{et_schema::DeviceType::kCpu, -1}
                                   : et_schema::Device{et_schema::DeviceType::kCuda, 0};
  }

  const Profile& profile_;
  const HostEvents& host_;
  const DeviceEvents& device_;
  std::vector<Call>& calls_;
  Trace& trace_;
  Arena arena_;
  Allocations allocations_;
  Tensors tensors_;
  Identity identity_;
  OptimizerStep optimizer_;
  std::vector<std::vector<Frame>> frames_;            ///< by thread
  std::map<std::int64_t, std::vector<Saved>> saved_;  ///< by sequence number
  std::vector<Use> uses_;
  std::vector<CallTensors> call_tensors_;                 ///< by host event
  std::vector<HostIndex> begun_;                          ///< in the order of their nodes
  std::vector<std::uint64_t> id_of_;                      ///< of the node, by host event
  std::map<std::int64_t, std::uint32_t> forward_thread_;  ///< by sequence number
  std::map<std::string_view, std::string_view> texts_;
  std::uint64_t moment_ = 0;
};

/// Gives events ids of their own where they have none, or several the same.
void number_events(Profile& profile, const HostEvents& host) {
  std::set<std::int64_t> ids;
  for (const HostEvent& event : host.events) {
    ids.insert(profile.events[event.source].rf_id);
  }
  if (ids.size() == host.events.size() && *ids.begin() > 0) {
    return;
  }
  std::int64_t next = 0;
  for (const HostEvent& event : host.events) {
    profile.events[event.source].rf_id = ++next;
  }
}

}  // namespace

Trace trace_of_profile(Profile& profile, const AskResults& ask) {
  NameTable names;
  const HostEvents host = host_events(profile, names);
  if (std::ranges::none_of(host.events, &HostEvent::is_operator)) {
    throw et_schema::bad_input(
        "a profile without operators",
        {.file = profile.file,
         .field = "traceEvents",
         .expected = "operators (cat cpu_op)",
         .got = fmt::format("{} events, none of them an operator", profile.events.size()),
         .hint = "profile with ProfilerActivity.CPU too; inspect --device-time shows what this "
                 "profile tells of its kernels"});
  }
  const DeviceEvents device = link_device_events(profile, host);
  const bool has_shapes = std::ranges::any_of(
      profile.events, [](const KinetoEvent& event) { return !event.arguments.empty(); });
  if (!has_shapes && device.total == 0) {
    throw et_schema::bad_input("a profile without shapes and without a device",
                               {.file = profile.file,
                                .field = "Input Dims",
                                .expected = "operators' shapes, or what they launched on a device",
                                .got = "neither, so nothing can be replayed",
                                .hint = "profile with record_shapes=True and profile_memory=True, "
                                        "or give the execution trace of the same run"});
  }
  number_events(profile, host);
  Trace trace;
  trace.file = profile.file;
  trace.schema = fmt::format("kineto {}", profile.schema_version);
  trace.content_hash = profile.content_hash;
  trace.content_bytes = profile.content_bytes;
  trace.losses = profile.losses;
  trace.arena = std::make_unique<std::pmr::monotonic_buffer_resource>();
  if (profile.distributed) {
    trace.rank = static_cast<int>(profile.distributed->rank);
    trace.process_groups = profile.distributed->groups;
  }
  std::vector<Call> calls =
      read_calls(profile, host, device, Arena(*trace.arena), ask, trace.losses);
  Maker(profile, host, device, calls, trace).walk();
  return trace;
}

}  // namespace understudy::generator
