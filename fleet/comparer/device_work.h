#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fleet/comparer/run.h"

namespace understudy::comparer {

/// What calls alike of a step spent in one kernel on a device.
struct DeviceWork {
  std::string call;  ///< operator with its arguments' sizes and types: what two devices share
  std::string kernel_class;
  std::string kernel;  ///< by its name, which devices of other makers do not share
  double launches = 0;
  double ms = 0;
};

/// A step of a profile as its device saw it.
struct DeviceStep {
  std::string file;
  std::string device;               ///< its name; empty: not told
  double step_ms = 0;               ///< from its start to the end of what its device does for it
  double busy_ms = 0;               ///< in which the device worked
  std::optional<double> idle = {};  ///< share of the steps' marks; null: not known
  std::vector<DeviceWork> work;
};

/// One name on both sides; null: that side has none of it.
struct DeviceRow {
  std::string name;
  std::string call = {};  ///< of a kernel: what launched it
  std::optional<double> a_ms = {}, b_ms = {};
  double a_launches = 0, b_launches = 0;
  [[nodiscard]] double change_ms() const { return b_ms.value_or(0) - a_ms.value_or(0); }
};

/// Two steps' devices; rows that cause most of the difference first.
struct DeviceComparison {
  DeviceStep a, b;
  DeviceRow all;
  DeviceRow shared;  ///< of operators that both sides have
  std::vector<DeviceRow> calls, classes, kernels;
};

[[nodiscard]] DeviceComparison compare_devices(DeviceStep a, DeviceStep b);

/// Throws Error (usage) where next to nothing of either side's time is of operators, with their
/// sizes, that the other has: programs that do not do the same work.
void refuse_different_work(const DeviceComparison& comparison);

/// The same of two profiles of which one tells no sizes: if fewer than 3 of 4 of a step's calls are
/// of operators that the other side calls as well.
void refuse_different_operators(const Run& a, const Run& b);

}  // namespace understudy::comparer
