#include <algorithm>
#include <string_view>

#include "et_schema/facts/public_operators.h"
#include "walk.h"

namespace understudy::generator {
namespace {

void sign(Tensors& tensors, SeenIndex index, DeviceSign sign, bool on_cpu) {
  SeenStorage& storage = tensors.storage_of(index);
  if (sign > storage.sign) {
    storage.sign = sign;
    storage.on_cpu = on_cpu;
  }
}

/// Names of CUPTI and ROCm: "Memcpy HtoD (Pageable -> Device)", "CopyHostToDevice".
enum class CopyKind : std::uint8_t { kOther, kToDevice, kToHost };

CopyKind copy_kind(std::string_view name) {
  const auto has = [name](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  };
  return has("HtoD") || has("HostToDevice")   ? CopyKind::kToDevice
         : has("DtoH") || has("DeviceToHost") ? CopyKind::kToHost
                                              : CopyKind::kOther;
}

/// Returns true for operators that copy one tensor to another. Others copy only internal data, such
/// as a size that the host waits for.
bool is_copy(std::string_view op) {
  return op.find("copy") != std::string_view::npos;
}

/// Records the devices that a copy shows: of both arguments of copy_(self, src), or of the only
/// argument (the source) of operators that return the copy.
void sign_copy(const CallTensors& call, CopyKind kind, Tensors& tensors) {
  const bool is_to_host = kind == CopyKind::kToHost;
  if (call.inputs.size() >= 2) {
    sign(tensors, call.inputs[0], DeviceSign::kCopy, is_to_host);
    sign(tensors, call.inputs[1], DeviceSign::kCopy, !is_to_host);
  } else if (call.inputs.size() == 1) {
    sign(tensors, call.inputs[0], DeviceSign::kCopy, !is_to_host);
  }
}

/// Returns by event whether it, or an event below it, launched device work.
std::vector<bool> find_launching(const HostEvents& host, const et_schema::DeviceTimeline& device) {
  std::vector<bool> launching(host.events.size());
  for (const et_schema::DeviceEvent& event : device.events) {
    for (HostIndex at = host.event_of(event.launcher); at != kNoEvent && !launching[at];
         at = host.events[at].parent) {
      launching[at] = true;
    }
  }
  return launching;
}

/// Numbers that are changed without a kernel are on the host, such as an optimizer's step counts.
void sign_numbers_of_host(const HostEvents& host, const et_schema::DeviceTimeline& device,
                          std::span<const CallTensors> tensors_of, Tensors& tensors) {
  const std::vector<bool> launching = find_launching(host, device);
  if (std::ranges::find(launching, true) == launching.end()) {
    return;
  }
  for (HostIndex i = 0; i < tensors_of.size(); ++i) {
    const std::string_view op = host.source(i).name;
    if (!launching[i] && op.starts_with("aten::") && op.ends_with('_') &&
        !et_schema::lays_out_in_place(op) &&
        std::ranges::all_of(tensors_of[i].inputs,
                            [&](SeenIndex input) { return tensors[input].sizes.empty(); })) {
      for (const SeenIndex input : tensors_of[i].inputs) {
        sign(tensors, input, DeviceSign::kLaunch, true);
      }
    }
  }
}

}  // namespace

void find_devices(const HostEvents& host, const et_schema::DeviceTimeline& device,
                  std::span<const CallTensors> tensors_of, Tensors& tensors) {
  sign_numbers_of_host(host, device, tensors_of, tensors);
  for (const et_schema::DeviceEvent& event : device.events) {
    const HostIndex launcher = host.event_of(event.launcher);
    if (launcher == kNoEvent) {
      continue;
    }
    const et_schema::KinetoEvent& work = host.sources[event.source];
    const CallTensors& call = tensors_of[launcher];
    const CopyKind copy = copy_kind(work.name);
    const std::string_view op = host.source(launcher).name;
    if (work.category == et_schema::KinetoCategory::kGpuMemcpy && copy != CopyKind::kOther &&
        (call.inputs.size() < 2 || is_copy(op))) {
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
      storage.on_cpu = device.total() == 0;
    }
  }
}

}  // namespace understudy::generator
