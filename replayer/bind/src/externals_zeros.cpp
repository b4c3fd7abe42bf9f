#include <ATen/core/Tensor.h>

#include <vector>

#include "replayer/bind/externals.h"

namespace understudy::replayer {
bool Externals::has_zeros(const Tensor& tensor) const {
  const et_schema::StorageId storage = program_.slots[tensor.slot].storage;
  const bool is_whole = tensor.tensor.defined() && tensor.tensor.is_floating_point() &&
                        tensor.tensor.is_contiguous() && copies_[storage] &&
                        tensor.tensor.nbytes() == copies_[storage]->nbytes();
  return program_.storages[storage].zeros > 0 && is_whole;
}

bool Externals::begin_zeros() {
  with_zeros_.clear();
  std::vector<bool> is_known(memory_.size());
  for (const Tensor& tensor : externals_) {
    const et_schema::StorageId storage = program_.slots[tensor.slot].storage;
    if (!is_known[storage] && has_zeros(tensor)) {
      is_known[storage] = true;
      with_zeros_.push_back({storage, Zeros(tensor.tensor, program_.storages[storage].zeros)});
      with_zeros_.back().zeros.clear();
    }
  }
  return !with_zeros_.empty();
}

void Externals::settle_zeros() {
  for (WithZeros& each : with_zeros_) {
    each.zeros.find();
  }
  restore();
  for (WithZeros& each : with_zeros_) {
    each.zeros.apply();
    copies_[each.storage] = copy_of(each.storage);
  }
}

}  // namespace understudy::replayer
