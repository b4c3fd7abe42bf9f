#include "capture/played/contents/tensors.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "capture/played/played.h"

namespace understudy::contents {
namespace {

using c10::DispatchKey;

struct Followed {
  std::mutex mutex;
  std::map<const void*, c10::weak_intrusive_ptr<c10::StorageImpl>> storages;  ///< by their begin
};

Followed& followed() {
  static auto& the_followed = *new Followed;
  return the_followed;
}

bool is_plain(const at::Tensor& tensor) {
  const bool is_wrapped = tensor.key_set().has_any(c10::DispatchKeySet(
      {DispatchKey::Python, DispatchKey::Functionalize, DispatchKey::FuncTorchBatched,
       DispatchKey::FuncTorchGradWrapper, DispatchKey::ZeroTensor}));
  return tensor.layout() == at::kStrided && !tensor.is_nested() && !is_wrapped &&
         tensor.has_storage();
}

at::Tensor same_memory(const at::Tensor& tensor) {
  const Bytes all = all_of_storage(tensor);
  const auto options = at::TensorOptions().dtype(tensor.dtype()).device(at::kCPU);
  const auto count = static_cast<std::int64_t>(all.count / tensor.dtype().itemsize());
  at::Tensor made = at::from_blob(const_cast<char*>(all.at), {count}, options)
                        .as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  made = tensor.is_conj() ? made.conj() : made;
  return tensor.is_neg() ? made._neg_view() : made;
}

}  // namespace

bool has_memory(const at::Tensor& tensor) {
  return (tensor.is_cuda() || tensor.is_cpu()) && is_plain(tensor) && storage_of(tensor) != nullptr;
}

bool stands_for_others(const at::Tensor& tensor) {
  return !tensor.is_meta() && !is_plain(tensor);
}

const void* storage_of(const at::Tensor& tensor) {
  return tensor.storage().data();
}

Bytes all_of_storage(const at::Tensor& tensor) {
  return {static_cast<const char*>(storage_of(tensor)), tensor.storage().nbytes()};
}

Bytes extent(const at::Tensor& tensor) {
  if (tensor.numel() == 0) {
    return {};
  }
  const auto size_of_one = static_cast<std::int64_t>(tensor.dtype().itemsize());
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < tensor.dim(); ++i) {
    last += (tensor.size(i) - 1) * tensor.stride(i);
  }
  return {static_cast<const char*>(storage_of(tensor)) + tensor.storage_offset() * size_of_one,
          static_cast<std::size_t>((last + 1) * size_of_one)};
}

bool is_known(const at::Tensor& tensor) {
  return is_known(extent(tensor), tensor.is_cpu());
}

bool is_known(Bytes bytes, bool is_of_host) {
  return bytes.count == 0 || played_is_assumed(bytes.at, bytes.count) == 0 ||
         (is_of_host && live_storage_around(bytes) == nullptr);
}

void know(Bytes bytes) {
  if (bytes.count > 0) {
    played_know(bytes.at, bytes.count);
  }
}

void assume(Bytes bytes) {
  if (bytes.count > 0) {
    played_assume(bytes.at, bytes.count);
  }
}

void follow_storage(const at::Tensor& tensor) {
  const std::scoped_lock lock(followed().mutex);
  followed().storages.insert_or_assign(storage_of(tensor), tensor.storage().getWeakStorageImpl());
}

const void* live_storage_around(Bytes bytes) {
  const std::scoped_lock lock(followed().mutex);
  const auto next = followed().storages.upper_bound(bytes.at);
  if (next == followed().storages.begin()) {
    return nullptr;
  }
  const auto living = std::prev(next)->second.lock();
  const auto* const at = static_cast<const char*>(std::prev(next)->first);
  return living && living->data() == at && bytes.at + bytes.count <= at + living->nbytes()
             ? at
             : nullptr;
}

at::Tensor on_host(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_cuda()) {
    return tensor;
  }
  return has_memory(tensor) ? same_memory(tensor)
                            : at::empty_strided(tensor.sizes(), tensor.strides(),
                                                tensor.options().device(at::kCPU));
}

c10::IValue on_host(const c10::IValue& value) {
  if (value.isTensor()) {
    return on_host(value.toTensor());
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      list.push_back(on_host(tensor));
    }
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      list.push_back(tensor ? std::optional(on_host(*tensor)) : std::nullopt);
    }
    return list;
  }
  if (value.isDevice() && value.toDevice().is_cuda()) {
    return c10::Device(at::kCPU);
  }
  return value;
}

bool has_unread(const c10::IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();  // an operator of two tensors wraps a number
    return tensor.defined() && tensor.is_cpu() && tensor.dim() == 0 && has_memory(tensor) &&
           tensor.scalar_type() == at::kDouble && *tensor.const_data_ptr<double>() == kUnread;
  }
  if (value.isList()) {
    const auto list = value.toListRef();
    return std::any_of(list.begin(), list.end(), has_unread);
  }
  return value.isDouble() && value.toDouble() == kUnread;
}

}  // namespace understudy::contents
