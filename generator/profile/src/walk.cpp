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
#include "result_tensors.h"
#include "timeline.h"

namespace understudy::generator {
namespace {

using et_schema::Arena;
using et_schema::KinetoEvent;
using et_schema::Loss;
using et_schema::Profile;
using et_schema::Tensor;

class Walk {
 public:
  Walk(const Profile& profile, const HostEvents& host, std::span<Call> calls, Arena arena,
       et_schema::Losses& losses)
      : profile_(profile),
        host_(host),
        calls_(calls),
        losses_(losses),
        arena_(arena),
        results_(profile, host, walked_.tensors, arena),
        autograd_(profile, host, calls),
        gradients_(walked_.tensors),
        identity_(host, calls, autograd_, walked_.tensors, gradients_),
        optimizer_(walked_.tensors, gradients_),
        frames_(host.threads.size()) {
    walked_.of_call.resize(calls.size());
    walked_.order.reserve(calls.size());
  }

  Walked walk() {
    for (const Moment& moment : moments(host_)) {
      ++moment_;
      moment.is_begin ? begin(moment.event) : end(moment.event);
    }
    for (std::size_t i = 0; i < walked_.tensors.storages(); ++i) {
      if (walked_.tensors.storage(static_cast<StorageIndex>(i)).is_external) {
        losses_.add(Loss::kExternalTensors);
      }
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
    if (event_of(index).name.starts_with("Optimizer.step#")) {
      frame.is_optimizer = true;
      optimizer_.begin();
    }
    frame.keeps_gradient = event_of(index).name == kKeepsGradient;
    if (event_of(index).name.starts_with(kEvaluation)) {
      frame.node = node_of(call);
    }
    frame.inputs = find_inputs(call, open);
    if (!open.empty() && open.back().keeps_gradient && !frame.inputs.empty() &&
        call.role_of[0].is_written) {
      gradients_.keep_in(frame.inputs[0]);
    }
    if (frame.keeps_gradient && frame.inputs.size() == 1 &&
        (gradients_.parameters().empty() ||
         gradients_.parameters().back().second != frame.inputs[0])) {
      gradients_.keep_of_unknown(frame.inputs[0]);
    }
    note_inputs(call, frame, open);
    open.push_back(std::move(frame));
  }

  BackwardNode node_of(const Call& label) {
    BackwardNode node;
    node.forward = autograd_.forward_of(event_of(label.event).sequence);
    if (node.forward != kNoEvent) {
      const CallTensors& had = walked_.of_call[node.forward];
      const std::vector<TensorRole>& roles = calls_[node.forward].role_of;
      for (std::size_t i = 0; i < had.inputs.size(); ++i) {
        node.receivers.push_back({had.inputs[i], i < roles.size() ? roles[i].name : ""});
      }
      node.results = had.results;
    }
    if (const auto saved = saved_.find(event_of(label.event).sequence); saved != saved_.end()) {
      node.saved = &saved->second;
    }
    const HostIndex end = host_.threads[label.thread].end;
    HostIndex operator_end = label.event;
    for (HostIndex i = label.event + 1;
         i < end && host_.events[i].start_ns < host_.events[label.event].end_ns; ++i) {
      if (i >= operator_end && !calls_[i].recorded.schema.empty()) {
        node.calls.push_back(i);
        operator_end = i + 1;
        while (operator_end < end && host_.events[operator_end].start_ns < host_.events[i].end_ns) {
          ++operator_end;
        }
      }
    }
    return node;
  }

  /// What is known of tensors once a call reads them.
  void note_inputs(const Call& call, const Frame& frame, std::span<Frame> open) {
    Tensors& tensors = walked_.tensors;
    if (frame.is_operator && !frame.is_backward) {
      promise(call, frame.inputs);
      return;
    }
    const auto around = std::find_if(open.rbegin(), open.rend(), [](const Frame& label) {
      return label.node.has_value() || label.is_operator;
    });
    if (around == open.rend() || around->is_operator) {
      return;
    }
    BackwardNode& node = *around->node;
    if (!frame.is_operator) {
      node.incoming.insert(node.incoming.end(), frame.inputs.begin(), frame.inputs.end());
      for (const SeenIndex gradient : frame.inputs) {
        tensors[gradient].gradient_in = around->begun;
      }
    } else {
      std::vector<SeenIndex>& list = is_addition(call) ? node.added : node.read;
      list.insert(list.end(), frame.inputs.begin(), frame.inputs.end());
    }
  }

  /// Each addition to a gradient in the call's node is of an argument that is read again later.
  void promise(const Call& call, std::span<const SeenIndex> inputs) {
    if (autograd_.forward_of(event_of(call.event).sequence) != call.event) {
      return;
    }
    const std::span<const HostIndex> added = autograd_.additions(call.event);
    std::vector<HostIndex> additions(added.begin(), added.end());
    for (const SeenIndex input : inputs) {
      SeenTensor& tensor = walked_.tensors[input];
      tensor.promised -= tensor.promised > 0 ? 1 : 0;
      const auto found = std::ranges::find_if(additions, [&](HostIndex addition) {
        const std::vector<Tensor*>& terms = calls_[addition].recorded.tensors;
        return !terms.empty() && std::ranges::equal(terms[0]->sizes, tensor.sizes);
      });
      if (found != additions.end()) {
        additions.erase(found);
        ++tensor.promised;
        tensor.promised_at = moment_;
      }
    }
  }

  bool is_addition(const Call& call) {
    const HostIndex parent = host_.events[call.event].parent;
    return parent != kNoEvent &&
           Autograd::is_addition(event_of(call.event).name, event_of(parent).name);
  }

  std::vector<SeenIndex> find_inputs(Call& call, std::span<const Frame> open) {
    std::vector<SeenIndex> found;
    const std::vector<Tensor*>& wanted = call.recorded.tensors;
    found.reserve(wanted.size());
    const bool is_update = !call.recorded.schema.empty() && !open.empty() &&
                           open.back().is_optimizer && !open.back().is_operator;
    std::vector<OptimizerStep::Operand> operands;
    const bool in_backward = is_in_backward(call, open);
    if (is_update) {
      operands = optimizer_.operands(call, next_name(call));
      updates_.emplace(call.event, operands);
    } else if (!in_backward && event_of(call.event).name.starts_with("aten::_foreach_")) {
      operands = optimizer_.gradients(call);
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const SeenIndex index = find_input(
          call, i, open, found, i < operands.size() ? operands[i] : OptimizerStep::Operand{});
      found.push_back(index);
    }
    if (!in_backward && operands.empty() && !call.communicates) {
      order_arguments(call, found);
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      walked_.uses.push_back({wanted[i], found[i]});
      walked_.tensors[found[i]].used = moment_;
    }
    type_lists(call, found);
    return found;
  }

  /// Of arguments of one layout the older tensor comes first, as expressions are worked out from
  /// left to right, but for what the call writes.
  void order_arguments(const Call& call, std::vector<SeenIndex>& found) {
    const std::vector<Tensor*>& wanted = call.recorded.tensors;
    const auto is_free = [&](std::size_t i) {
      return !call.role_of[i].is_written && !is_parameter_name(call.role_of[i].name);
    };
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (std::size_t j = i + 1; j < found.size(); ++j) {
        SeenTensor& one = walked_.tensors[found[i]];
        SeenTensor& other = walked_.tensors[found[j]];
        if (is_free(i) && is_free(j) && other.born < one.born && one.dtype == other.dtype &&
            std::ranges::equal(wanted[i]->sizes, wanted[j]->sizes) &&
            std::ranges::equal(wanted[i]->strides, wanted[j]->strides)) {
          std::swap(found[i], found[j]);
        }
      }
    }
  }

  SeenIndex find_input(const Call& call, std::size_t position, std::span<const Frame> open,
                       std::span<const SeenIndex> taken, OptimizerStep::Operand operand) {
    Tensor& tensor = *call.recorded.tensors[position];
    const TensorRole& argument = call.role_of[position];
    const Wanted wanted{&call,
                        event_of(call.event).name,
                        host_.events[call.event].start_ns,
                        tensor.sizes,
                        tensor.strides,
                        argument.is_untyped ? et_schema::DType::kUndefined : tensor.dtype,
                        argument.name,
                        argument.is_written};
    if (const SeenIndex given = given_by_caller(call, tensor, open); given != kNotSeen) {
      return given;
    }
    Identity::Choice choice{operand.tensor, Told::kInferred};
    const bool is_of_other_sizes =
        operand.kind == OptimizerStep::Kind::kKnown &&
        !std::ranges::equal(walked_.tensors[operand.tensor].sizes, tensor.sizes);
    if (operand.kind == OptimizerStep::Kind::kOther || is_of_other_sizes) {
      choice = identity_.find(wanted, open, taken);
    }
    const bool is_index =
        call.recorded.schema.find("Tensor?[] indices") != std::string_view::npos &&
        argument.name == "indices";
    if (is_index && choice.told == Told::kInferred) {
      choice.tensor = kNotSeen;  // a wrong one could point outside of what it indexes
    }
    if (choice.tensor == kNotSeen) {
      choice.tensor = add_external(tensor, open);
    } else if (choice.told == Told::kInferred) {
      losses_.add(Loss::kInferredTensors);
    }
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

  SeenIndex add_external(const Tensor& tensor, std::span<const Frame> open) {
    SeenTensor seen;
    seen.sizes = tensor.sizes;
    seen.strides = strides_of(tensor);
    seen.dtype = tensor.dtype;
    seen.born = moment_;
    seen.is_visible = true;
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
    const std::vector<SeenIndex> results = results_.find(call, frame, moment_);
    walked_.of_call[index] = {frame.inputs, results};
    note_results(call, frame, results, open);
    if (const auto update = updates_.find(index); update != updates_.end()) {
      optimizer_.ended(call, update->second, frame.inputs, results);
      updates_.erase(update);
    }
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

  void note_results(const Call& call, const Frame& frame, std::span<const SeenIndex> results,
                    std::span<Frame> open) {
    Tensors& tensors = walked_.tensors;
    const bool is_differentiated =
        frame.is_operator && !frame.is_backward && autograd_.goes_back(call.event);
    for (std::size_t i = 0; i < frame.inputs.size(); ++i) {
      SeenTensor& input = tensors[frame.inputs[i]];
      input.is_differentiated = input.is_differentiated || is_differentiated;
      if (call.role_of[i].is_written) {
        input.written_by = event_of(call.event).name;
      }
    }
    const auto node = std::find_if(open.rbegin(), open.rend(),
                                   [](const Frame& label) { return label.node.has_value(); });
    if (node != open.rend() && std::ranges::any_of(frame.inputs, [&](SeenIndex input) {
          return tensors[input].gradient_in == node->begun;
        })) {
      for (const SeenIndex result : results) {
        tensors[result].gradient_in = node->begun;
      }
    }
    if (!open.empty() && open.back().node && is_addition(call)) {
      std::vector<SeenIndex>& sums = open.back().node->sums;
      sums.insert(sums.end(), results.begin(), results.end());
    }
    if (frame.node) {
      gradients_.give({frame.node->receivers, frame.made, frame.node->read, frame.node->incoming,
                       frame.node->added, frame.node->sums, host_.events[call.event].end_ns,
                       moment_});
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

  const Profile& profile_;
  const HostEvents& host_;
  std::span<Call> calls_;
  et_schema::Losses& losses_;
  Arena arena_;
  Walked walked_;
  ResultTensors results_;
  Autograd autograd_;
  Gradients gradients_;
  Identity identity_;
  OptimizerStep optimizer_;
  std::map<HostIndex, std::vector<OptimizerStep::Operand>> updates_;  ///< open calls of a step
  std::vector<std::vector<Frame>> frames_;                            ///< by thread
  std::map<std::int64_t, std::vector<Saved>> saved_;                  ///< by sequence number
  std::uint64_t moment_ = 0;
};

}  // namespace

Walked walk_calls(const Profile& profile, const HostEvents& host, std::span<Call> calls,
                  Arena arena, et_schema::Losses& losses) {
  return Walk(profile, host, calls, arena, losses).walk();
}

}  // namespace understudy::generator
