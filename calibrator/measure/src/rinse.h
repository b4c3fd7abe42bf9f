#pragma once

#include <memory>
#include <vector>

#include "backends/backend.h"
#include "bound_call.h"

namespace understudy::calibrator {

/// What the operators between two calls of one do in a step to what these calls share: code,
/// dispatch tables, the heap's lists. Some small operators of other kinds run, then as much memory
/// is read as the core's own cache holds twice. Without it an operator that only makes a view takes
/// a fifth of what it does in a step.
class Rinse {
 public:
  explicit Rinse(backends::Backend& backend);
  void run();

 private:
  std::vector<std::unique_ptr<BoundCall>> calls_;
  std::vector<unsigned char> swept_;
};

}  // namespace understudy::calibrator
