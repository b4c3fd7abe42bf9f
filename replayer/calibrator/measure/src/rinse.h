#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "bound_call.h"
#include "replayer/backends/interface/backend.h"

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

/// What caches hold at a time.
inline constexpr std::size_t kLineBytes = 64;

/// Takes memory out of all caches, so that whoever reads it next meets main memory, while code and
/// everything else stay where they are. On processors without an instruction for it that a program
/// may use, more memory is read than caches hold.
void evict(const void* memory, std::size_t bytes);

}  // namespace understudy::calibrator
