#include "input_tensors.h"

#include <algorithm>
#include <optional>

#include "et_schema/model/slot_extent.h"

namespace understudy::generator {

using et_schema::Tensor;

std::vector<SeenIndex> InputTensors::find(Call& call, std::span<const Frame> open,
                                          std::uint64_t moment) {
  moment_ = moment;
  std::vector<SeenIndex> found;
  const std::vector<Tensor*>& wanted = call.recorded.tensors;
  found.reserve(wanted.size());
  const bool is_update = !call.recorded.schema.empty() && !open.empty() &&
                         open.back().is_optimizer && !open.back().is_operator;
  std::vector<OptimizerStep::Operand> operands;
  const bool in_backward = call.is_backward || (!open.empty() && open.back().is_backward);
  if (is_update) {
    operands = optimizer_.operands(call, next_name(call));
    updates_.emplace(call.event, operands);
  } else if (!in_backward && host_.source(call.event).name.starts_with("aten::_foreach_")) {
    operands = optimizer_.gradients(call);
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const SeenIndex index = find_input(
        call, i, open, found, i < operands.size() ? operands[i] : OptimizerStep::Operand{});
    found.push_back(index);
  }
  if (call.promoted) {
    promote(call, open, found);
  }
  if (!in_backward && operands.empty() && !call.communicates) {
    order_arguments(call, found);
  }
  type_lists(call, found);
  return found;
}

/// One tensor of a list of several types must have the result's type. If none has, replaces the
/// first one for which a tensor of that type is found.
void InputTensors::promote(const Call& call, std::span<const Frame> open,
                           std::vector<SeenIndex>& found) {
  const auto is_it = [&](SeenIndex index) { return tensors_[index].dtype == *call.promoted; };
  if (std::ranges::any_of(found, is_it)) {
    return;
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Identity::Choice other = identity_.find(wanted_of(call, i, *call.promoted), open, found);
    if (other.tensor != kNotSeen) {
      found[i] = other.tensor;
      return;
    }
  }
}

Wanted InputTensors::wanted_of(const Call& call, std::size_t position,
                               et_schema::DType dtype) const {
  return {call,
          host_.source(call.event).name,
          host_.events[call.event].start_ns,
          *call.recorded.tensors[position],
          call.role_of[position],
          dtype};
}

/// Orders arguments of one layout by age, oldest first, because expressions are evaluated from left
/// to right. Written arguments and parameters keep their place.
void InputTensors::order_arguments(const Call& call, std::vector<SeenIndex>& found) const {
  const std::vector<Tensor*>& wanted = call.recorded.tensors;
  const auto is_free = [&](std::size_t i) {
    return !call.role_of[i].is_written && !is_parameter_name(call.role_of[i].name);
  };
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (std::size_t j = i + 1; j < found.size(); ++j) {
      const SeenTensor& one = tensors_[found[i]];
      const SeenTensor& other = tensors_[found[j]];
      if (is_free(i) && is_free(j) && other.born < one.born && one.dtype == other.dtype &&
          std::ranges::equal(wanted[i]->sizes, wanted[j]->sizes) &&
          std::ranges::equal(wanted[i]->strides, wanted[j]->strides)) {
        std::swap(found[i], found[j]);
      }
    }
  }
}

SeenIndex InputTensors::find_input(const Call& call, std::size_t position,
                                   std::span<const Frame> open, std::span<const SeenIndex> taken,
                                   OptimizerStep::Operand operand) {
  Tensor& tensor = *call.recorded.tensors[position];
  const TensorRole& argument = call.role_of[position];
  const Wanted wanted = wanted_of(
      call, position, argument.is_untyped ? list_dtype(call, position, taken) : tensor.dtype);
  if (const SeenIndex given = given_by_caller(call, tensor, open); given != kNotSeen) {
    return given;
  }
  Identity::Choice choice{operand.tensor, Told::kInferred};
  const bool is_another =
      operand.kind == OptimizerStep::Kind::kKnown && !identity_.can_be(wanted, operand.tensor);
  if (operand.kind == OptimizerStep::Kind::kOther || is_another) {
    choice = identity_.find(wanted, open, taken);
  }
  const bool is_index = call.recorded.schema.find("Tensor?[] indices") != std::string_view::npos &&
                        argument.name == "indices";
  // A wrong index could be out of bounds.
  const bool is_python = is_number(call, tensor);
  if (overlaps_written(call, position, taken, choice.tensor) ||
      (is_index && choice.told == Told::kInferred) || is_python ||
      needs_its_own(wanted, taken, choice.tensor)) {
    choice.tensor = kNotSeen;
  }
  if (choice.tensor == kNotSeen) {
    choice.tensor = add_external(tensor, wanted.begin_ns, open);
    if (is_python) {
      tensors_.storage_of(choice.tensor).on_cpu = true;
      tensors_.storage_of(choice.tensor).sign = DeviceSign::kCopy;
    }
  } else if (choice.told == Told::kInferred) {
    losses_.add(et_schema::Loss::kInferredTensors);
  }
  return choice.tensor;
}

/// Returns true if the argument would share elements with another one, and the call writes one of
/// them: LibTorch refuses such calls. A collective may be in place.
bool InputTensors::overlaps_written(const Call& call, std::size_t position,
                                    std::span<const SeenIndex> taken, SeenIndex found) const {
  if (found == kNotSeen || call.recorded.schema.starts_with("c10d")) {
    return false;
  }
  const auto begin_of = [](const SeenTensor& tensor) {
    return tensor.offset * et_schema::item_size(tensor.dtype);
  };
  const auto end_of = [](const SeenTensor& tensor) {
    return extent_bytes(tensor.sizes, tensor.strides, tensor.offset,
                        et_schema::item_size(tensor.dtype));
  };
  const SeenTensor& one = tensors_[found];
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const SeenTensor& other = tensors_[taken[i]];
    if ((call.role_of[i].is_written || call.role_of[position].is_written) &&
        one.storage == other.storage && begin_of(one) < end_of(other) &&
        begin_of(other) < end_of(one)) {
      return true;
    }
  }
  return false;
}

/// Returns true if the results' type shows that the argument is a Python number: a 0-D double that
/// would otherwise decide the type, since no other argument is a floating tensor with dimensions.
bool InputTensors::is_number(const Call& call, const Tensor& tensor) {
  const bool is_double = tensor.dtype == et_schema::DType::kFloat64 ||
                         tensor.dtype == et_schema::DType::kComplexFloat64;
  return is_double && tensor.sizes.empty() && !call.told.tensors.empty() &&
         call.told.tensors[0].dtype != tensor.dtype && call.told.tensors[0].storage_of < 0 &&
         std::ranges::none_of(call.recorded.tensors, [](const Tensor* other) {
           return !other->sizes.empty() && !et_schema::is_integral(other->dtype);
         });
}

/// Returns the element type of the previous tensor in the list. Returns kUndefined (any type) if
/// there is none, the list has several types, or this call was the first to show that tensor.
et_schema::DType InputTensors::list_dtype(const Call& call, std::size_t position,
                                          std::span<const SeenIndex> taken) const {
  const bool is_first =
      position == 0 || call.role_of[position - 1].name != call.role_of[position].name;
  return is_first || call.promoted || tensors_[taken[position - 1]].born == moment_
             ? et_schema::DType::kUndefined
             : tensors_[taken[position - 1]].dtype;
}

/// Gives all tensors of a list one element type: that of tensors made by operators. Tensors older
/// than the profile that first occur here get it too.
void InputTensors::type_lists(const Call& call, std::span<const SeenIndex> found) {
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

/// Returns the next operator after the call on its thread, without namespace; empty if none.
std::string_view InputTensors::next_name(const Call& call) const {
  const HostIndex next = host_.events[call.event].behind;
  return next < host_.threads[call.thread].end
             ? et_schema::without_namespace(host_.source(next).name)
             : std::string_view();
}

/// A communication event records only numbers of elements; the tensors are those of the c10d
/// operator around it.
SeenIndex InputTensors::given_by_caller(const Call& call, const Tensor& tensor,
                                        std::span<const Frame> open) const {
  if (!call.communicates || open.empty()) {
    return kNotSeen;
  }
  const std::vector<SeenIndex>& given = open.back().inputs;
  const auto found = std::ranges::find_if(given, [&](SeenIndex index) {
    return et_schema::element_count(tensors_[index].sizes) == tensor.numel &&
           tensors_[index].dtype == tensor.dtype;
  });
  return found == given.end() ? kNotSeen : *found;
}

SeenIndex InputTensors::add_external(const Tensor& tensor, std::int64_t now_ns,
                                     std::span<const Frame> open) {
  SeenTensor seen;
  seen.sizes = tensor.sizes;
  seen.strides = tensor.has_strides
                     ? tensor.strides
                     : arena_.copy<std::int64_t>(et_schema::contiguous_strides(tensor.sizes));
  seen.dtype = tensor.dtype;
  seen.born = moment_;
  seen.is_visible = true;
  SeenStorage storage;
  storage.is_external = true;
  storage.bytes = extent_bytes(seen.sizes, seen.strides, 0, tensor.item_bytes);
  seen.storage = tensors_.add_storage(storage);
  const SeenIndex index = tensors_.add(seen, now_ns);
  if (!open.empty() && open.back().is_operator) {
    tensors_[index].is_visible = false;
  }
  return index;
}

void InputTensors::ended(const Call& call, std::span<const SeenIndex> inputs,
                         std::span<const SeenIndex> results) {
  if (const auto update = updates_.find(call.event); update != updates_.end()) {
    optimizer_.ended(call, update->second, inputs, results);
    updates_.erase(update);
  }
}

}  // namespace understudy::generator
