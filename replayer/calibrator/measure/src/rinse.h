#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "bound_call.h"
#include "replayer/backends/interface/backend.h"

namespace understudy::calibrator {

/// Reproduces the effect of the other operators of a step on the state that calls of one operator
/// share: code, dispatch tables, the heap's lists. It runs some small operators of other kinds,
/// then reads twice as much memory as the core's own cache holds. Without it, an operator that only
/// makes a view needs a fifth of its time in a step.
class Rinse {
 public:
  explicit Rinse(backends::Backend& backend);
  void run();

 private:
  std::vector<std::unique_ptr<BoundCall>> calls_;
  std::vector<unsigned char> swept_;
};

/// Size of a cache line.
inline constexpr std::size_t kLineBytes = 64;

/// Evicts memory from all caches, so that the next access reads main memory, while code and other
/// data stay cached. On processors without a flush instruction for programs, reads more memory than
/// the caches hold.
void evict(const void* memory, std::size_t bytes);

}  // namespace understudy::calibrator
