#include "replayer/dispatch/extent.h"

#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/ops/_validate_sparse_compressed_tensor_args.h>
#include <ATen/ops/_validate_sparse_coo_tensor_args.h>
#include <ATen/ops/q_per_channel_axis.h>
#include <ATen/ops/q_per_channel_scales.h>
#include <ATen/ops/q_per_channel_zero_points.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "et_schema/base/error.h"
#include "replayer/dispatch/layout.h"

namespace understudy::replayer {
namespace {

/// Returns true if a layout exceeds `elements`.
bool reaches_beyond(at::IntArrayRef sizes, at::IntArrayRef strides, std::int64_t offset,
                    std::uint64_t elements) {
  if (std::ranges::find(sizes, 0) != sizes.end()) {
    return false;
  }
  std::int64_t last = offset;
  bool is_beyond = last < 0;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    std::int64_t step = 0;
    is_beyond = is_beyond || sizes[dim] < 0 || strides[dim] < 0 ||
                __builtin_mul_overflow(sizes[dim] - 1, strides[dim], &step) ||
                __builtin_add_overflow(last, step, &last);
  }
  return is_beyond || static_cast<std::uint64_t>(last) >= elements;
}

std::uint64_t elements_of(const at::Tensor& tensor) {
  const std::uint64_t packed = tensor.scalar_type() == at::kQUInt4x2   ? 2
                               : tensor.scalar_type() == at::kQUInt2x4 ? 4
                                                                       : 1;
  return tensor.storage().nbytes() / tensor.itemsize() * packed;
}

bool lies_outside(const at::Tensor& tensor);

/// Indices on a device are not checked here, since reading them would wait for it.
bool sparse_lies_outside(const at::Tensor& tensor) {
  const bool is_coo = tensor.layout() == at::kSparse;
  const auto [begins, indices] = is_coo ? std::pair(at::Tensor(), tensor._indices())
                                        : at::sparse_csr::getCompressedPlainIndices(tensor);
  const at::Tensor values = is_coo ? tensor._values() : tensor.values();
  if (lies_outside(begins) || lies_outside(indices) || lies_outside(values)) {
    return true;
  }
  try {
    if (tensor.is_cpu() && is_coo) {
      at::_validate_sparse_coo_tensor_args(indices, values, tensor.sizes());
    } else if (tensor.is_cpu()) {
      at::_validate_sparse_compressed_tensor_args(begins, indices, values, tensor.sizes(),
                                                  tensor.layout());
    }
  } catch (const c10::Error&) {
    return true;
  }
  return false;
}

bool is_by_channel(const at::Tensor& tensor) {
  return tensor.is_quantized() && tensor.qscheme() != at::kPerTensorAffine &&
         tensor.qscheme() != at::kPerTensorSymmetric;
}

bool scales_lie_outside(const at::Tensor& tensor) {
  const std::int64_t axis = at::q_per_channel_axis(tensor);
  const std::int64_t channels = axis < 0 || axis >= tensor.dim() ? -1 : tensor.size(axis);
  const auto fits = [&](const at::Tensor& numbers) {
    return numbers.numel() == channels && !lies_outside(numbers);
  };
  return !fits(at::q_per_channel_scales(tensor)) || !fits(at::q_per_channel_zero_points(tensor));
}

bool lies_outside(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.is_meta() || tensor._is_zerotensor() ||
      tensor.unsafeGetTensorImpl()->is_python_dispatch() || tensor.is_nested()) {
    return false;
  }
  if (tensor.is_sparse() || at::sparse_csr::is_sparse_compressed(tensor)) {
    return sparse_lies_outside(tensor);
  }
  return tensor.layout() == at::kStrided && tensor.has_storage() &&
         (reaches_beyond(tensor.sizes(), tensor.strides(), tensor.storage_offset(),
                         elements_of(tensor)) ||
          (is_by_channel(tensor) && scales_lie_outside(tensor)));
}

bool is_described(const at::Tensor& tensor) {
  return tensor.defined() && (tensor.layout() != at::kStrided || is_by_channel(tensor));
}

/// Returns the first tensor on the stack that satisfies `is_so`, list elements included.
template <typename Test>
std::optional<at::Tensor> find_tensor(const torch::jit::Stack& stack, const Test& is_so) {
  for (const c10::IValue& value : stack) {
    if (value.isTensor() && is_so(value.toTensor())) {
      return value.toTensor();
    }
    if (!value.isList()) {
      continue;
    }
    for (const c10::IValue& item : value.toListRef()) {
      if (item.isTensor() && is_so(item.toTensor())) {
        return item.toTensor();
      }
    }
  }
  return std::nullopt;
}

}  // namespace

bool takes_layout(const c10::FunctionSchema& schema) {
  const auto says_layout = [](const c10::Argument& argument) {
    return argument.name().find("stride") != std::string::npos ||
           argument.type()->kind() == c10::TypeKind::StorageType;
  };
  const auto shows_argument = [](const c10::Argument& result) {
    return result.alias_info() != nullptr;
  };
  return std::ranges::any_of(schema.arguments(), says_layout) &&
         std::ranges::any_of(schema.returns(), shows_argument);
}

bool has_nested(const torch::jit::Stack& stack) {
  return find_tensor(stack, [](const at::Tensor& tensor) { return tensor.is_nested(); })
      .has_value();
}

bool has_described(const torch::jit::Stack& stack) {
  return find_tensor(stack, is_described).has_value();
}

void refuse_outside(const torch::jit::Stack& stack, std::string_view op,
                    std::optional<std::uint64_t> node) {
  const std::optional<at::Tensor> found = find_tensor(stack, lies_outside);
  if (!found) {
    return;
  }
  const bool is_plain = !is_described(*found);
  throw et_schema::bad_input(
      "an operator shows memory that is not its tensor's",
      {.node = node,
       .field = std::string(op),
       .expected = is_plain ? fmt::format("an extent within the {} bytes of its storage",
                                          found->storage().nbytes())
                            : "parts within their storages, and indices within its sizes",
       .got = is_plain ? fmt::format("{}, offset {}", describe(*found), found->storage_offset())
                       : describe(*found),
       .hint = "The benchmark is damaged, or made to read what is not its own."});
}

}  // namespace understudy::replayer
