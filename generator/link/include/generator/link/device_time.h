#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "et_schema/kineto/kineto.h"

namespace understudy::generator {

/// What is known of the launch of a device event.
enum class LaunchedBy : std::uint8_t {
  kOperator,  ///< an operator was open
  kLabel,     ///< only what is no operator was: an autograd node, a custom function
  kGraph,     ///< a CUDA or HIP graph, in which no operator is open
  kNothing    ///< no operator was open, or no launch is in the profile
};
/// "operator", "label without operator", "graph launch", "unlinked".
[[nodiscard]] std::string_view to_string(LaunchedBy by);

/// Device events of one name that were launched alike.
struct KernelTime {
  std::string_view kernel;
  std::string_view kernel_class;  ///< et_schema::kernel_class()
  LaunchedBy by = LaunchedBy::kNothing;
  std::string_view launcher;  ///< the innermost operator's or label's name; empty without one
  std::uint64_t count = 0;
  std::int64_t device_ns = 0;
};

/// An operator's call, and what it launched. Of several operators of one class that lie in each
/// other (conv2d, cudnn_convolution; linear, addmm) the outermost, which other devices and releases
/// call by the same name; the innermost where the outer ones show another element type (autocast).
struct DeviceCall {
  const et_schema::KinetoEvent* call = nullptr;  ///< null: no operator was open
  LaunchedBy by = LaunchedBy::kNothing;
  std::vector<std::uint32_t> events;  ///< positions in Profile::events
};

/// All device events of the profile, each once, in the order of their calls' first ones.
[[nodiscard]] std::vector<DeviceCall> device_calls(const et_schema::Profile& profile);

/// All kernels, copies and fills of the profile, each once: Σ device_ns is its whole device time.
/// Longest first. The views are of `profile`. n log n in the events.
[[nodiscard]] std::vector<KernelTime> kernel_times(const et_schema::Profile& profile);

}  // namespace understudy::generator
