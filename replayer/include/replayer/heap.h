#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace understudy::replayer {

/// How many page faults an iteration meets on its tensors' memory.
///
/// Whether a step's tensors lie on pages that the process already has is chance in the original:
/// the C library gives memory back to the system when enough of it is free at the top of the heap,
/// and that depends on what else, of Python's, lies there. Steps with ten thousand faults and with
/// none are seen in one process, a tenth of the step's time apart. A replay by itself falls on a
/// side of its own. So it keeps its heap, and gives back the pages of its largest blocks as they
/// are freed, from the largest size down, as far as the original's number of faults asks for: large
/// blocks are what the C library takes from the top of the heap, and what it gives back.
class HeapPages {
 public:
  /// Stops the C library from giving memory back by itself; blocks above its largest threshold
  /// (32 MiB) are still mapped and unmapped one by one, as in the original. For the rest of the
  /// process. To be called before tensors are made.
  static void keep_heap();

  /// `faults`: wanted an iteration.
  explicit HeapPages(std::uint64_t faults) : wanted_(faults) {}
  ~HeapPages();
  HeapPages(const HeapPages&) = delete;
  HeapPages& operator=(const HeapPages&) = delete;

  /// Before an iteration, outside of what is timed. The first one is looked at: which blocks it
  /// frees.
  void begin();
  /// After it: what it faulted on corrects what the next one will.
  void end();

 private:
  void plan();

  std::uint64_t wanted_;
  double planned_pages_ = 0;  ///< that the next iteration is to give back
  std::uint64_t faults_before_ = 0;
  std::map<std::size_t, std::uint64_t>
      frees_;  ///< by bytes of a block: how many an iteration frees
  bool looked_ = false;
};

/// To be called with each block of a tensor before it is freed.
void before_free(void* block, std::size_t bytes);

/// Minor page faults of this process so far.
[[nodiscard]] std::uint64_t minor_faults();

}  // namespace understudy::replayer
