#include "devices.h"

#include <algorithm>

namespace understudy::generator {
namespace {

using et_schema::KinetoCategory;

void sign(Tensors& tensors, SeenIndex index, DeviceSign sign, bool on_cpu) {
  SeenStorage& storage = tensors.storage_of(index);
  if (sign > storage.sign) {
    storage.sign = sign;
    storage.on_cpu = on_cpu;
  }
}

/// CUPTI and ROCm: "Memcpy HtoD (Pageable -> Device)", "CopyHostToDevice".
enum class CopyKind : std::uint8_t { kOther, kToDevice, kToHost };

CopyKind copy_kind(std::string_view name) {
  const auto has = [name](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  };
  return has("HtoD") || has("HostToDevice")   ? CopyKind::kToDevice
         : has("DtoH") || has("DeviceToHost") ? CopyKind::kToHost
                                              : CopyKind::kOther;
}

/// copy_(self, src), or an operator whose argument is the source and whose result is the copy.
void sign_copy(const CallTensors& call, CopyKind kind, Tensors& tensors) {
  const bool is_to_host = kind == CopyKind::kToHost;
  if (call.inputs.size() >= 2) {
    sign(tensors, call.inputs[0], DeviceSign::kCopy, is_to_host);
    sign(tensors, call.inputs[1], DeviceSign::kCopy, !is_to_host);
  } else if (call.inputs.size() == 1) {
    sign(tensors, call.inputs[0], DeviceSign::kCopy, !is_to_host);
  }
}

}  // namespace

void find_devices(const et_schema::Profile& profile, const DeviceEvents& device,
                  std::span<const CallTensors> tensors_of, Tensors& tensors) {
  for (const DeviceEvent& event : device.linked) {
    const et_schema::KinetoEvent& work = profile.events[event.source];
    const CallTensors& call = tensors_of[event.operator_];
    const CopyKind copy = copy_kind(work.name);
    if (work.category == KinetoCategory::kGpuMemcpy && copy != CopyKind::kOther) {
      sign_copy(call, copy, tensors);
      continue;
    }
    const bool has_sizes = std::ranges::any_of(
        call.inputs, [&](SeenIndex input) { return !tensors[input].sizes.empty(); });
    for (const SeenIndex input : call.inputs) {
      if (!has_sizes || !tensors[input].sizes.empty()) {
        sign(tensors, input, DeviceSign::kLaunch, false);
      }
    }
    for (const SeenIndex result : call.results) {
      sign(tensors, result, DeviceSign::kLaunch, false);
    }
  }
  for (std::size_t i = 0; i < tensors.storages(); ++i) {
    SeenStorage& storage = tensors.storage(static_cast<StorageIndex>(i));
    if (storage.sign == DeviceSign::kNone) {
      storage.on_cpu = device.total == 0;
    }
  }
}

}  // namespace understudy::generator
