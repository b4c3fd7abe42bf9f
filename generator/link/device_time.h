#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "et_schema/formats/kineto/device_timeline.h"

namespace understudy::generator {

/// Device events of one name with the same kind of launcher.
struct KernelTime {
  std::string_view kernel;
  std::string_view kernel_class;  ///< DeviceEvent::kernel_class
  et_schema::LaunchedBy by = et_schema::LaunchedBy::kNothing;
  std::string_view launcher;  ///< innermost operator or label; empty if none was open
  std::uint64_t count = 0;
  std::int64_t device_ns = 0;
};

/// What the range profiler counted in kernels of one name with the same launcher.
struct KernelCounters {
  std::string_view kernel;
  std::string_view launcher;  ///< innermost operator or label; empty if none was open or is known
  std::uint64_t count = 0;    ///< kernels
  et_schema::Counters sums = {};  ///< over these kernels, by the counter's name
};

/// An operator's call, and the device events that it launched. Of nested operators of one class
/// (conv2d, cudnn_convolution; linear, addmm) it is the outermost, which other devices and releases
/// call by the same name, or the innermost if element types differ (autocast).
struct DeviceCall {
  const et_schema::KinetoEvent* call = nullptr;  ///< null: no operator was open
  et_schema::LaunchedBy by = et_schema::LaunchedBy::kNothing;
  std::vector<std::uint32_t> events;  ///< positions in DeviceTimeline::events
  bool is_cut_off = false;            ///< the profile lost part of the device events
};

/// Returns all device events of the profile, each once, ordered by the first event of their call.
[[nodiscard]] std::vector<DeviceCall> device_calls(const et_schema::Profile& profile,
                                                   const et_schema::DeviceTimeline& device);

/// Returns all kernels, copies and fills of the profile's steps, each once, longest first: Σ
/// device_ns is their whole device time. The views refer to `profile`. The time is n log n in the
/// events.
[[nodiscard]] std::vector<KernelTime> kernel_times(const et_schema::Profile& profile,
                                                   const et_schema::DeviceTimeline& device);

/// Returns the launches of the kernels that the range profiler measured, in the order of
/// Profile::ranges, which name no launch; empty if there are not as many of both.
[[nodiscard]] std::vector<et_schema::LostLaunch> ranged_launches(
    const et_schema::Profile& profile, const et_schema::DeviceTimeline& device);

/// Returns the counters of all kernels that the range profiler measured. Their launchers are known
/// if ranged_launches() are.
[[nodiscard]] std::vector<KernelCounters> kernel_counters(const et_schema::Profile& profile,
                                                          const et_schema::DeviceTimeline& device);

}  // namespace understudy::generator
