#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstddef>
#include <cstdint>

namespace understudy::contents {

/// Bytes of memory.
struct Bytes {
  const char* at = nullptr;
  std::size_t count = 0;
};

/// Whether the tensor is plain memory of the card or the host.
[[nodiscard]] bool has_memory(const at::Tensor& tensor);
/// Whether the tensor has no memory of its own, but other tensors have it: those of a subclass, a
/// transform or a sparse tensor.
[[nodiscard]] bool stands_for_others(const at::Tensor& tensor);

[[nodiscard]] const void* storage_of(const at::Tensor& tensor);
[[nodiscard]] Bytes all_of_storage(const at::Tensor& tensor);
/// From its first to its last number; what lies between numbers of a view with gaps is in it.
[[nodiscard]] Bytes extent(const at::Tensor& tensor);
/// Whether all of its bytes are. What the host's memory held before its storage was made says
/// nothing.
[[nodiscard]] bool is_known(const at::Tensor& tensor);
[[nodiscard]] bool is_known(Bytes bytes, bool is_of_host);
void know(Bytes bytes);
void assume(Bytes bytes);

/// Something is said of the tensor's storage, which holds as long as that lives.
void follow_storage(const at::Tensor& tensor);
/// Returns where the living storage begins that all of these bytes are in, or null.
[[nodiscard]] const void* live_storage_around(Bytes bytes);

/// The same memory as a tensor of the host.
[[nodiscard]] at::Tensor on_host(const at::Tensor& tensor);
/// An operator's argument with all its tensors on the host.
[[nodiscard]] c10::IValue on_host(const c10::IValue& value);

/// The answer to a script that asks for a number that is not known. Its last bit marks it, so that
/// an operator that is given it back is seen.
inline constexpr double kUnread = 1.0000000000000002;
[[nodiscard]] bool has_unread(const c10::IValue& value);

/// Calls `visit` with each tensor within a value that is defined.
template <typename Visit>
void each_tensor(const c10::IValue& value, Visit&& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) {
      visit(value.toTensor());
    }
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) {
      each_tensor(element, visit);
    }
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) {
      each_tensor(element, visit);
    }
  }
}

}  // namespace understudy::contents
