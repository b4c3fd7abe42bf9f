#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "et_schema/formats/kineto/device_timeline.h"

namespace understudy::generator {

/// Device events of one name that were launched alike.
struct KernelTime {
  std::string_view kernel;
  std::string_view kernel_class;  ///< et_schema::kernel_class()
  et_schema::LaunchedBy by = et_schema::LaunchedBy::kNothing;
  std::string_view launcher;  ///< the innermost operator's or label's name; empty without one
  std::uint64_t count = 0;
  std::int64_t device_ns = 0;
};

/// An operator's call, and what it launched. Of several operators of one class that lie in each
/// other (conv2d, cudnn_convolution; linear, addmm) the outermost, which other devices and releases
/// call by the same name; the innermost where the outer ones show another element type (autocast).
struct DeviceCall {
  const et_schema::KinetoEvent* call = nullptr;  ///< null: no operator was open
  et_schema::LaunchedBy by = et_schema::LaunchedBy::kNothing;
  std::vector<std::uint32_t> events;  ///< positions in DeviceTimeline::events
  bool is_cut_off = false;            ///< the profile lost a part of what it launched
};

/// All device events of the profile, each once, in the order of their calls' first ones.
[[nodiscard]] std::vector<DeviceCall> device_calls(const et_schema::Profile& profile,
                                                   const et_schema::DeviceTimeline& device);

/// All kernels, copies and fills of the profile, each once: Σ device_ns is its whole device time.
/// Longest first. The views are of `profile`. n log n in the events.
[[nodiscard]] std::vector<KernelTime> kernel_times(const et_schema::Profile& profile,
                                                   const et_schema::DeviceTimeline& device);

}  // namespace understudy::generator
