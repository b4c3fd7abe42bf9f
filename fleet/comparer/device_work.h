#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fleet/comparer/run.h"

namespace understudy::comparer {

/// Time that equal calls of a step spent in one kernel on a device.
struct DeviceWork {
  std::string call;  ///< operator with its arguments' sizes and types, comparable between devices
  std::string kernel_class;
  std::string kernel;  ///< kernel name; differs between vendors
  double launches = 0;
  double ms = 0;
};

/// The device's view of one step of a profile.
struct DeviceStep {
  std::string file;
  std::string device;               ///< its name; empty: unknown
  double step_ms = 0;               ///< from the start of the step to the end of its device work
  double busy_ms = 0;               ///< time in which the device worked
  std::optional<double> idle = {};  ///< idle share between the steps' marks; unset: unknown
  std::vector<DeviceWork> work;
};

/// One name on both sides. A time is unset if its side lacks the name.
struct DeviceRow {
  std::string name;
  std::string call = {};  ///< for a kernel: the call that launched it
  std::optional<double> a_ms = {}, b_ms = {};
  double a_launches = 0, b_launches = 0;
  [[nodiscard]] double change_ms() const { return b_ms.value_or(0) - a_ms.value_or(0); }
};

/// Two steps' devices. Rows that cause most of the difference come first.
struct DeviceComparison {
  DeviceStep a, b;
  DeviceRow all;
  DeviceRow shared;  ///< operators that both sides have
  std::vector<DeviceRow> calls, classes, kernels;
};

[[nodiscard]] DeviceComparison compare_devices(DeviceStep a, DeviceStep b);

/// Throws Error (usage) if almost none of either side's time is in operators that the other side
/// has with the same sizes: the programs do different work.
void refuse_different_work(const DeviceComparison& comparison);

/// Like refuse_different_work(), for profiles of which one lacks sizes: throws if fewer than 3 of 4
/// of a step's calls are of operators that the other side calls as well.
void refuse_different_operators(const Run& a, const Run& b);

}  // namespace understudy::comparer
