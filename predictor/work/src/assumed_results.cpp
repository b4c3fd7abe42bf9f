#include <algorithm>
#include <utility>

#include "et_schema/facts/operator_facts.h"
#include "et_schema/model/op_class.h"
#include "predictor/work/sizes.h"
#include "predictor/work/work.h"

namespace understudy::predictor {
namespace {

using Sizes = std::vector<std::int64_t>;
using Lists = std::vector<Sizes>;

bool is_indices(const TensorLayout& tensor) {
  return et_schema::is_integral(tensor.dtype);
}

/// Adds results shaped like the arguments from `first` on: their gradients.
void add_like(OperatorCall& call, std::size_t first, std::size_t count) {
  for (std::size_t i = first; i < std::min(first + count, call.inputs.size()); ++i) {
    call.outputs.push_back({call.inputs[i].dtype, call.inputs[i].sizes});
  }
}

void add_sizes(OperatorCall& call, Sizes sizes) {
  call.outputs.push_back({compute_dtype(call), std::move(sizes)});
}

/// Returns the broadcast sizes; if arguments do not match, the largest.
Sizes broadcast(const std::vector<TensorLayout>& inputs) {
  Sizes sizes;
  for (const TensorLayout& input : inputs) {
    if (input.sizes.size() > sizes.size()) {
      sizes.insert(sizes.begin(), input.sizes.size() - sizes.size(), 1);
    }
    const std::size_t skipped = sizes.size() - input.sizes.size();
    for (std::size_t i = 0; i < input.sizes.size(); ++i) {
      std::int64_t& size = sizes[skipped + i];
      if (size != input.sizes[i] && size != 1 && input.sizes[i] != 1) {
        return std::ranges::max(inputs, {}, et_schema::element_count).sizes;
      }
      size = std::max(size, input.sizes[i]);
    }
  }
  return sizes;
}

void add_product(OperatorCall& call) {
  std::vector<const TensorLayout*> factors;
  for (const TensorLayout& input : call.inputs) {
    if (input.sizes.size() >= 2) {
      factors.push_back(&input);
    }
  }
  if (has_part(call, "add") && factors.size() > 2) {
    factors.erase(factors.begin());
  }
  if (factors.size() < 2 || has_part(call, "backward")) {
    add_like(call, 0, has_part(call, "backward") ? 2 : 1);
    return;
  }
  Sizes sizes = factors[0]->sizes;
  sizes.back() = has_part(call, "linear") ? factors[1]->sizes.front() : factors[1]->sizes.back();
  add_sizes(call, std::move(sizes));
}

std::int64_t at_or(const Sizes& list, std::size_t i, std::int64_t otherwise) {
  return list.empty() ? otherwise : list[std::min(i, list.size() - 1)];
}

/// Arguments: input, weight, bias, then the lists stride, padding, dilation; vendors' operators put
/// padding first. If padding is a text ("same"), only two lists remain, and the result has the
/// input's sizes divided by the strides.
void add_convolution(OperatorCall& call, Lists lists) {
  if (has_part(call, "backward")) {
    add_like(call, 1, 2);
    return;
  }
  if (call.inputs.size() < 2 || call.inputs[0].sizes.size() < 3) {
    add_like(call, 0, 1);
    return;
  }
  if (lists.size() >= 3 &&
      (has_part(call, "cudnn_convolution") || has_part(call, "miopen_convolution"))) {
    std::swap(lists[0], lists[1]);
  }
  const Sizes& weight = call.inputs[1].sizes;
  Sizes sizes = call.inputs[0].sizes;
  sizes[1] = weight.front();
  for (std::size_t i = 2; i < std::min(sizes.size(), weight.size()); ++i) {
    const std::int64_t stride =
        lists.empty() ? 1 : std::max<std::int64_t>(at_or(lists[0], i - 2, 1), 1);
    std::int64_t positions = sizes[i];
    if (lists.size() >= 3) {
      positions += 2 * at_or(lists[1], i - 2, 0) - at_or(lists[2], i - 2, 1) * (weight[i] - 1);
    }
    sizes[i] = std::max<std::int64_t>((positions + stride - 1) / stride, 1);
  }
  add_sizes(call, std::move(sizes));
}

/// The lists are kernel and stride; for adaptive pooling, the result's sizes.
void add_pooling(OperatorCall& call, const Lists& lists) {
  Sizes sizes = call.inputs[0].sizes;
  const bool is_adaptive = has_part(call, "adaptive");
  const Sizes list = lists.empty() ? Sizes() : lists[lists.size() > 1 && !is_adaptive ? 1 : 0];
  const Sizes& steps = list.empty() && !lists.empty() ? lists[0] : list;
  for (std::size_t i = 2; i < sizes.size(); ++i) {
    const std::int64_t step = std::max<std::int64_t>(at_or(steps, i - 2, 1), 1);
    sizes[i] = is_adaptive ? step : std::max<std::int64_t>(sizes[i] / step, 1);
  }
  add_sizes(call, std::move(sizes));
}

/// Reduces the dimensions of the first list, otherwise the last one.
void add_reduction(OperatorCall& call, const Lists& lists) {
  Sizes sizes = call.inputs[0].sizes;
  const auto rank = static_cast<std::int64_t>(sizes.size());
  const Sizes dims = lists.empty() || lists[0].empty() ? Sizes{-1} : lists[0];
  for (const std::int64_t dim : dims) {
    const std::int64_t at = dim < 0 ? dim + rank : dim;
    if (at >= 0 && at < rank) {
      sizes[static_cast<std::size_t>(at)] = 1;
    }
  }
  add_sizes(call, std::move(sizes));
}

/// Adds a result with a row of the first tensor for each index.
void add_rows(OperatorCall& call) {
  const auto indices = std::ranges::find_if(call.inputs, is_indices);
  const bool writes_first = call.name.ends_with('_') || has_part(call, "scatter") ||
                            has_part(call, "index_add") || has_part(call, "backward");
  if (indices == call.inputs.end() || writes_first) {
    add_like(call, 0, 1);
    return;
  }
  Sizes sizes = indices->sizes;
  if (!has_part(call, "gather")) {
    const Sizes& table = call.inputs[0].sizes;
    sizes.insert(sizes.end(), table.empty() ? table.end() : table.begin() + 1, table.end());
  }
  add_sizes(call, std::move(sizes));
}

void add_copy(OperatorCall& call) {
  const bool joins = has_part(call, "cat") || has_part(call, "stack");
  if (!joins) {
    add_like(call, 0, 1);
    return;
  }
  std::int64_t elements = 0;
  for (const TensorLayout& input : call.inputs) {
    elements += element_count(input);
  }
  add_sizes(call, {elements});
}

}  // namespace

void add_assumed_results(OperatorCall& call, const std::vector<std::vector<std::int64_t>>& lists) {
  // A compiled kernel writes to some of its arguments.
  if (call.inputs.empty() || et_schema::op_class(call.name) == "compiled") {
    return;
  }
  constexpr std::size_t kQueryKeyValue = 3;
  switch (family_of(call.name)) {
    case Family::kMatmul:
      return add_product(call);
    case Family::kConvolution:
      return add_convolution(call, lists);
    case Family::kAttention:
      return has_part(call, "backward") ? add_like(call, 1, kQueryKeyValue) : add_like(call, 0, 1);
    case Family::kPooling:
      return add_pooling(call, lists);
    case Family::kReduction:
      return add_reduction(call, lists);
    case Family::kEmbedding:
    case Family::kIndex:
      return add_rows(call);
    case Family::kCopy:
      return add_copy(call);
    case Family::kOptimizer:
      return;  // work_of() handles writes of parameter lists
    case Family::kView:
    case Family::kAllocation:
    case Family::kNormalization:
    case Family::kSoftmax:
    case Family::kSort:
      return add_like(call, 0, 1);
    default:
      return add_sizes(call, broadcast(call.inputs));
  }
}

}  // namespace understudy::predictor
