#pragma once

#include <string>
#include <vector>

#include "replayer/calibrator/design/call.h"

namespace understudy::calibrator {

/// A call whose rate others hardly exceed: a sum of tensors in a level of memory, or a product.
struct CeilingCall {
  Call call;
  bool is_bandwidth = false;
  std::string name;  ///< level, "L1", "L2", "L3", "DRAM"; or element type, "float32"
  double work = 0;   ///< bytes, or floating-point operations
};

/// Returns the calls that show a machine's ceilings. "DRAM" is the rate of cold calls, other levels
/// are those of warm ones. Caches of a CPU whose size the system does not report are left out.
[[nodiscard]] std::vector<CeilingCall> ceiling_calls(bool on_device);

}  // namespace understudy::calibrator
