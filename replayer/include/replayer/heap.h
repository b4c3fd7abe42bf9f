#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace understudy::replayer {

/// How many page faults an iteration meets on its tensors' memory.
///
/// Whether a step's tensors lie on pages that the process already has is chance in the original:
/// the C library gives the top of the heap back to the system when enough of it is free, and that
/// depends on what else, of Python's, lies there. A step of some hundred megabytes takes ten
/// thousand faults or none, which makes a tenth of its time. A replay by itself always falls on one
/// side. So the heap is kept, and before each iteration as many pages of it are given back as the
/// original's steps were seen to fault on.
class HeapPages {
 public:
  /// Stops the C library from giving memory back by itself; blocks above its largest threshold
  /// (32 MiB) are still mapped and unmapped one by one, as in the original. For the rest of the
  /// process. To be called before tensors are made.
  static void keep_heap();

  /// `free_bytes`: the tensors' memory that is free between iterations. `faults`: wanted an
  /// iteration.
  HeapPages(std::uint64_t free_bytes, std::uint64_t faults);

  /// Before an iteration, outside of what is timed.
  void begin();
  /// After it: what it faulted on corrects what the next one will.
  void end();

 private:
  void release(std::size_t pages);

  std::uint64_t free_bytes_;
  std::uint64_t wanted_;
  double released_pages_;  ///< before the next iteration
  std::uint64_t faults_before_ = 0;
  std::vector<void*> blocks_;
};

/// Minor page faults of this process so far.
[[nodiscard]] std::uint64_t minor_faults();

}  // namespace understudy::replayer
