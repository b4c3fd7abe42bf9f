#include "replayer/dispatch/layout.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/quantized/QTensorImpl.h>
#include <ATen/quantized/Quantizer.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/TensorOptions.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "et_schema/model/slot_extent.h"

namespace understudy::replayer {
namespace {

using et_schema::extent_elements;

at::QuantizerPtr assumed_quantizer(at::ScalarType dtype, const Slot& layout, c10::Device device) {
  if (dtype == at::kQUInt4x2 || dtype == at::kQUInt2x4) {
    const std::int64_t channels = layout.sizes.empty() ? 1 : layout.sizes.front();
    const auto options = c10::TensorOptions().device(device).dtype(at::kFloat);
    return at::make_per_channel_affine_quantizer(at::full({channels}, kAssumedScale, options),
                                                 at::zeros({channels}, options), 0, dtype);
  }
  constexpr std::int64_t kMiddleByte = 128;
  return at::make_per_tensor_affine_quantizer(kAssumedScale, dtype == at::kQUInt8 ? kMiddleByte : 0,
                                              dtype);
}

}  // namespace

at::ScalarType to_scalar_type(DType dtype) {
  if (dtype == DType::kUndefined) {
    return at::ScalarType::Undefined;
  }
  return static_cast<at::ScalarType>(dtype);  // the numbers equal c10's
}

c10::Device map_device(et_schema::Device recorded, c10::Device target) {
  if (recorded.type == et_schema::DeviceType::kMeta) {
    return c10::Device(c10::kMeta);
  }
  return is_accelerator(recorded) ? target : c10::Device(c10::kCPU);
}

at::Tensor view_storage(const c10::Storage& storage, const Slot& layout, std::int64_t offset) {
  const at::ScalarType dtype = to_scalar_type(layout.dtype);
  const c10::TensorOptions options = c10::TensorOptions().device(storage.device()).dtype(dtype);
  // A quantised tensor needs QTensorImpl: its kernels query the quantizer.
  at::Tensor tensor =
      c10::isQIntType(dtype)
          ? at::detail::make_tensor<at::QTensorImpl>(
                c10::Storage(storage), c10::DispatchKeySet(options.computeDispatchKey()),
                options.dtype(), assumed_quantizer(dtype, layout, storage.device()))
          : at::detail::make_tensor<c10::TensorImpl>(c10::Storage(storage),
                                                     options.computeDispatchKey(), options.dtype());
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(layout.sizes, layout.strides, offset);
  return tensor;
}

at::Tensor make_tensor(const Slot& layout, c10::Device device) {
  const at::ScalarType dtype = to_scalar_type(layout.dtype);
  if (layout.sparse) {
    return at::empty(layout.sizes,
                     c10::TensorOptions().device(device).dtype(dtype).layout(at::kSparse));
  }
  if (!c10::isQIntType(dtype)) {
    return at::empty_strided(layout.sizes, layout.strides,
                             c10::TensorOptions().device(device).dtype(dtype));
  }
  const at::Tensor bytes = at::empty({extent_elements(layout) * item_size(layout.dtype)},
                                     c10::TensorOptions().device(device).dtype(at::kByte));
  return view_storage(bytes.storage(), layout, 0);
}

bool fits(const Slot& layout, std::int64_t offset, std::size_t bytes) {
  const std::int64_t extent = extent_elements(layout);
  if (extent == 0) {
    return true;
  }
  return offset >= 0 && static_cast<std::uint64_t>(offset + extent) *
                                static_cast<std::uint64_t>(item_size(layout.dtype)) <=
                            bytes;
}

std::string describe(const Slot& layout) {
  std::string text = fmt::format("{}[{}]", to_string(layout.dtype), fmt::join(layout.sizes, ", "));
  if (layout.strides_recorded) {
    text += fmt::format(" strides [{}]", fmt::join(layout.strides, ", "));
  }
  return text;
}

std::string describe(const at::Tensor& tensor) {
  if (!tensor.defined()) {
    return "undefined";
  }
  const DType dtype = static_cast<DType>(tensor.scalar_type());
  if (tensor.is_nested()) {
    return fmt::format("{} nested", to_string(dtype));
  }
  std::string text = fmt::format("{}[{}]", to_string(dtype), fmt::join(tensor.sizes(), ", "));
  if (tensor.layout() != at::kStrided) {
    return text + " not strided";
  }
  return text + fmt::format(" strides [{}]", fmt::join(tensor.strides(), ", "));
}

}  // namespace understudy::replayer
