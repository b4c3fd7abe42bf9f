#include "walk.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "et_schema/model/slot_extent.h"
#include "identity.h"
#include "optimizer.h"
#include "timeline.h"

namespace understudy::generator {
namespace {

using et_schema::Arena;
using et_schema::KinetoEvent;
using et_schema::Loss;
using et_schema::Profile;
using et_schema::Tensor;

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

class Walk {
 public:
  Walk(const Profile& profile, const HostEvents& host, std::span<Call> calls, Arena arena,
       et_schema::Losses& losses)
      : profile_(profile),
        host_(host),
        calls_(calls),
        losses_(losses),
        arena_(arena),
        allocations_(profile, host),
        identity_(walked_.tensors, begin_of_backward(host, calls)),
        optimizer_(walked_.tensors),
        frames_(host.threads.size()) {
    walked_.of_call.resize(calls.size());
    walked_.order.reserve(calls.size());
  }

  Walked walk() {
    for (const Moment& moment : moments(host_)) {
      ++moment_;
      moment.is_begin ? begin(moment.event) : end(moment.event);
    }
    return std::move(walked_);
  }

 private:
  [[nodiscard]] const KinetoEvent& event_of(HostIndex index) const {
    return profile_.events[host_.events[index].source];
  }

  void begin(HostIndex index) {
    walked_.order.push_back(index);
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
      walked_.tensors[index].used = moment_;
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
      walked_.uses.push_back({&tensor, given});
      return given;
    }
    Identity::Choice choice{operand.tensor, Told::kInferred};
    if (operand.kind == OptimizerStep::Kind::kOther) {
      choice = identity_.find(wanted, open, taken, host_.events[call.event].start_ns, call.next_ns);
    }
    const bool is_index =
        call.recorded.schema.find("Tensor?[] indices") != std::string_view::npos &&
        argument.name == "indices";
    if (is_index && choice.told == Told::kInferred) {
      choice.tensor = kNotSeen;  // a wrong one could point outside of what it indexes
    }
    if (choice.tensor == kNotSeen) {
      choice.tensor = add_external(tensor, wanted, open);
      losses_.add(Loss::kExternalTensors);
    } else if (choice.told == Told::kInferred) {
      losses_.add(Loss::kInferredTensors);
    }
    walked_.uses.push_back({&tensor, choice.tensor});
    return choice.tensor;
  }

  /// The tensors of a list have one element type: that of those which operators made. What is older
  /// than the profile, and was met here first, has it too.
  void type_lists(const Call& call, std::span<const SeenIndex> found) {
    std::optional<et_schema::DType> made;
    for (std::size_t i = 0; i < found.size() && !made; ++i) {
      if (call.role_of[i].is_untyped && walked_.tensors[found[i]].born != moment_) {
        made = walked_.tensors[found[i]].dtype;
      }
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!call.role_of[i].is_untyped) {
        continue;
      }
      SeenTensor& tensor = walked_.tensors[found[i]];
      if (made && tensor.born == moment_) {
        SeenStorage& storage = walked_.tensors.storage(tensor.storage);
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
      for (const std::int64_t size : walked_.tensors[index].sizes) {
        elements *= size;
      }
      return elements == tensor.numel && walked_.tensors[index].dtype == tensor.dtype;
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
    seen.storage = walked_.tensors.add_storage(storage);
    const SeenIndex index = walked_.tensors.add(seen);
    if (!open.empty() && open.back().is_operator) {
      walked_.tensors[index].is_visible = false;
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
    walked_.of_call[index] = {frame.inputs, results};
    const bool is_visible =
        std::ranges::none_of(open, [](const Frame& around) { return around.is_operator; });
    for (const SeenIndex result : results) {
      walked_.tensors[result].is_visible = walked_.tensors[result].is_visible || is_visible;
      walked_.tensors[result].in_backward =
          walked_.tensors[result].in_backward || frame.is_backward;
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
      SeenTensor& written = walked_.tensors[same];
      if (!frame.is_backward && !walked_.tensors.storage(written.storage).is_external) {
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
      const SeenTensor& base =
          walked_.tensors[frame.inputs[static_cast<std::size_t>(result.storage_of)]];
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
      seen.storage = walked_.tensors.add_storage(storage);
    } else {
      SeenStorage& storage = walked_.tensors.storage(seen.storage);
      storage.bytes =
          std::max(storage.bytes, extent_bytes(seen.sizes, seen.strides, seen.offset, item_bytes));
    }
    return walked_.tensors.add(seen);
  }

  /// The tensor of those that the call's children made which the call hands on.
  SeenIndex find_made(const Call& call, const Frame& frame, const SeenTensor& result, bool is_view,
                      std::span<const SeenIndex> taken) {
    const std::int64_t end_ns = host_.events[call.event].end_ns;
    SeenIndex best = kNotSeen;
    bool best_has_strides = false;
    for (std::size_t i = frame.made.size(); i-- > 0;) {
      const SeenIndex index = frame.made[i];
      const SeenTensor& made = walked_.tensors[index];
      const SeenStorage& storage = walked_.tensors.storage(made.storage);
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
    return std::ranges::any_of(
        frame.inputs, [&](SeenIndex input) { return walked_.tensors[input].storage == storage; });
  }

  const Profile& profile_;
  const HostEvents& host_;
  std::span<Call> calls_;
  et_schema::Losses& losses_;
  Arena arena_;
  Allocations allocations_;
  Walked walked_;
  Identity identity_;
  OptimizerStep optimizer_;
  std::vector<std::vector<Frame>> frames_;            ///< by thread
  std::map<std::int64_t, std::vector<Saved>> saved_;  ///< by sequence number
  std::uint64_t moment_ = 0;
};

}  // namespace

Walked walk_calls(const Profile& profile, const HostEvents& host, std::span<Call> calls,
                  Arena arena, et_schema::Losses& losses) {
  return Walk(profile, host, calls, arena, losses).walk();
}

}  // namespace understudy::generator
