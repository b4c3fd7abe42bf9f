#include <ATen/core/Tensor.h>
#include <ATen/ops/any.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/nonzero.h>

#include <algorithm>
#include <cmath>

#include "replayer/bind/externals.h"

namespace understudy::replayer {
namespace {

/// Rows along the last dimension; a lookup's gradient touches whole rows.
at::Tensor rows_of(const at::Tensor& tensor) {
  return tensor.dim() < 2 ? tensor.reshape({-1, 1}) : tensor.reshape({-1, tensor.size(-1)});
}

/// Marks `count` of the unmarked rows, evenly spread. Tensors in which the same rows are marked get
/// the same new marks, as the moments of one parameter do.
void mark_more(at::Tensor& marked_rows, std::int64_t count) {
  const at::Tensor others = at::nonzero(marked_rows.logical_not()).flatten();
  const std::int64_t most = std::min(count, others.numel());
  if (most > 0) {
    const at::Tensor spread =
        at::arange(most, others.options()).mul(others.numel()).floor_divide(most);
    marked_rows.index_fill_(0, others.index_select(0, spread), true);
  }
}

}  // namespace

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
      with_zeros_.push_back(tensor);
      bytes_of(storage).zero_();
    }
  }
  return !with_zeros_.empty();
}

void Externals::settle_zeros() {
  std::vector<at::Tensor> written;
  for (const Tensor& tensor : with_zeros_) {
    const double share = program_.storages[program_.slots[tensor.slot].storage].zeros;
    const at::Tensor rows = rows_of(tensor.tensor.ne(0));
    at::Tensor is_written = rows.any(1);
    const auto wanted =
        static_cast<std::int64_t>(std::llround((1 - share) * static_cast<double>(rows.size(0))));
    mark_more(is_written, wanted - is_written.sum().item<std::int64_t>());
    written.push_back(is_written);
  }
  restore();
  for (std::size_t i = 0; i < with_zeros_.size(); ++i) {
    const et_schema::StorageId storage = program_.slots[with_zeros_[i].slot].storage;
    rows_of(with_zeros_[i].tensor).masked_fill_(written[i].logical_not().unsqueeze(1), 0);
    copies_[storage] = copy_of(storage);
  }
}

}  // namespace understudy::replayer
