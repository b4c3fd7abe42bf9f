#include "gradients.h"

#include <algorithm>
#include <set>

namespace understudy::generator {

Gradients::Waiting* Gradients::find(SeenIndex tensor) {
  const auto found = std::ranges::find(waiting_, tensor, &Waiting::of);
  return found == waiting_.end() ? nullptr : &*found;
}

SeenIndex Gradients::remove(Waiting& waiting) {
  const SeenIndex gradient = waiting.gradient;
  waiting_.erase(waiting_.begin() + (&waiting - waiting_.data()));
  return gradient;
}

void Gradients::give(const BackwardNode& node, std::span<const SeenIndex> made, std::int64_t end_ns,
                     std::uint64_t moment) {
  // A gradient that leaves the node outlives the node, unless it was added to another one. The
  // node's operators did not read it.
  const auto is_alive = [&](SeenIndex index) {
    return tensors_.storage_of(index).freed_ns > end_ns || contains(node.added, index);
  };
  std::vector<SeenIndex> leaving;
  for (const SeenIndex index : made) {
    if (is_alive(index) && !contains(node.read, index) && !contains(node.sums, index) &&
        !contains(leaving, index)) {
      leaving.push_back(index);
    }
  }
  // A derivative computes gradients in the order of the names of the forward operator's arguments
  // (torch/csrc/autograd/generated). An operator with several results returns them in the order of
  // the arguments.
  std::vector<ForwardTensor> receivers = node.receivers;
  const bool is_of_several = std::ranges::any_of(leaving, [&](SeenIndex index) {
    return std::ranges::any_of(leaving, [&](SeenIndex other) {
      return std::ranges::equal(tensors_[index].sizes, tensors_[other].sizes) &&
             tensors_[index].maker != tensors_[other].maker;
    });
  });
  if (is_of_several) {
    std::ranges::stable_sort(receivers, {}, &ForwardTensor::argument);
  }
  std::vector<SeenIndex> sums = node.sums;
  std::set<SeenIndex> done;
  for (const ForwardTensor& receiver : receivers) {
    const SeenTensor& tensor = tensors_[receiver.tensor];
    const auto fits = [&](SeenIndex index) {
      return std::ranges::equal(tensors_[index].sizes, tensor.sizes);
    };
    const bool has_gradient =
        et_schema::is_floating(tensor.dtype) || et_schema::is_complex(tensor.dtype);
    if (!has_gradient || !done.insert(receiver.tensor).second) {
      continue;
    }
    SeenIndex gradient = kNotSeen;
    if (const auto found = std::ranges::find_if(leaving, fits); found != leaving.end()) {
      gradient = *found;
      leaving.erase(found);
    } else if (const auto passed = std::ranges::find_if(
                   node.incoming, [&](SeenIndex index) { return fits(index) && is_alive(index); });
               passed != node.incoming.end()) {
      gradient = *passed;
    } else {
      continue;
    }
    if (Waiting* const waiting = find(receiver.tensor); waiting != nullptr) {
      if (const auto sum = std::ranges::find_if(sums, fits); sum != sums.end()) {
        gradient = *sum;
        sums.erase(sum);
      }
      remove(*waiting);
    }
    waiting_.push_back({receiver.tensor, gradient, moment, false});
  }
}

}  // namespace understudy::generator
