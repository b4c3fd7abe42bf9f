#include <ATen/ops/empty.h>
#include <ATen/ops/sparse_coo_tensor.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "replayer/values/values.h"

namespace understudy::replayer {
namespace {

using et_schema::SparseContent;
using et_schema::SparseLayout;

/// Returns (dimensions, elements).
at::Tensor make_indices(const SparseContent& content, ValueKey key) {
  const auto dimensions = static_cast<std::int64_t>(content.indices.size());
  at::Tensor indices = at::empty({dimensions, content.elements}, at::kLong);
  for (std::int64_t dim = 0; dim < dimensions; ++dim) {
    ++key.seed;  // each dimension has its own seed
    fill_tensor(indices.select(0, dim), content.indices[static_cast<std::size_t>(dim)], key);
  }
  return indices;
}

/// Returns (elements, dense sizes…); sums over a row's elements are of order one.
at::Tensor make_values(const et_schema::Slot& slot, const c10::TensorOptions& options,
                       ValueKey key) {
  const SparseContent& content = *slot.content;
  std::vector<std::int64_t> sizes = {content.elements};
  sizes.insert(sizes.end(),
               slot.sizes.begin() + static_cast<std::ptrdiff_t>(content.indices.size()),
               slot.sizes.end());
  const std::int64_t rows = std::max<std::int64_t>(slot.sizes.front(), 1);
  const std::int64_t a_row = (content.elements + rows - 1) / rows;
  at::Tensor values = at::empty(sizes, options.layout(at::kStrided).device(at::kCPU));
  fill_tensor(values,
              slot.value ? *slot.value
                         : default_rule(c10::typeMetaToScalarType(options.dtype()), {rows, a_row}),
              key);
  return values;
}

}  // namespace

at::Tensor make_sparse(const et_schema::Slot& slot, const c10::TensorOptions& options,
                       ValueKey key) {
  if (!slot.content) {
    return at::sparse_coo_tensor(slot.sizes, options.layout(at::kSparse));
  }
  const SparseContent& content = *slot.content;
  at::Tensor made =
      at::sparse_coo_tensor(make_indices(content, key), make_values(slot, options, key), slot.sizes)
          .to(options.device());
  if (content.coalesced || content.layout != SparseLayout::kCoo) {
    made = made.coalesce();
  }
  switch (content.layout) {
    case SparseLayout::kCsr:
      return made.to_sparse_csr();
    case SparseLayout::kCsc:
      return made.to_sparse_csc();
    case SparseLayout::kCoo:
      break;
  }
  return made;
}

}  // namespace understudy::replayer
