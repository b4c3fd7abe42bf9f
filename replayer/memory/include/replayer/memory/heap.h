#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::replayer {

class HeapBlocks;

/// The largest threshold that glibc raises itself to: larger blocks are mapped one by one.
inline constexpr std::size_t kMostMappedThreshold = std::size_t{32} << 20U;

/// How many page faults an iteration meets on its tensors' memory, and which of its tensors.
///
/// Whether a step's tensors lie on pages that the process already has is chance in the original:
/// the C library gives memory back to the system when enough of it is free at the top of the heap,
/// and that depends on what else, of Python's, lies there. Steps with ten thousand faults and with
/// none are seen in one process, a tenth of the step's time apart. A replay has its own number. So
/// it keeps its heap, and makes as many faults as the original's: it returns the pages of blocks
/// when they are freed, and keeps these blocks for the same tensors of the next iteration. First
/// come the blocks that operators met faults on in the original, if its capture counted them, then
/// the largest. If nothing was counted, those that lay highest, since the C library returns the top
/// of the heap. Blocks are taken until the number of faults is reached, the last one in part. A
/// freed block's pages are returned when all blocks that lay higher are free too.
class HeapPages {
 public:
  /// A block of an iteration: the `place`-th, from 0, that it allocates of this size.
  struct Block {
    std::size_t bytes = 0;
    std::uint32_t place = 0;
    double fault_share = 0;  ///< of it that faulted in the original, as far as operators tell
    std::optional<std::uint64_t> address =
        {};  ///< there; unknown ones come last, the largest first
  };

  /// Stops the C library from giving memory back by itself; blocks above its largest threshold
  /// (32 MiB) are still mapped and unmapped one by one, as in the original. For the rest of the
  /// process. To be called before tensors are made.
  static void keep_heap();

  /// `faults`: wanted an iteration. `threads`: that share an operator's work, here and in the
  /// original; what it is known to have faulted on is one thread's part.
  HeapPages(std::uint64_t faults, int threads);
  /// On another heap than the process's.
  HeapPages(std::uint64_t faults, int threads, HeapBlocks& heap);
  ~HeapPages();
  HeapPages(const HeapPages&) = delete;
  HeapPages& operator=(const HeapPages&) = delete;

  /// Around one iteration without being timed: which blocks it allocates.
  void begin_learning();
  /// After each operator: what the original allocated and faulted on in it, as far as that is
  /// known. Blocks are identified by size, the first of equals. Faults go to what the operator
  /// allocated, then to what was allocated last before it: one operator can allocate memory that
  /// the next one writes.
  void learn(std::span<const et_schema::HeapBlock> original, std::optional<std::int64_t> faults);
  void end_learning();

  /// Before an iteration, outside of what is timed.
  void begin();
  /// After it: what it faulted on corrects what the next one will.
  void end();

 private:
  void plan();

  HeapBlocks& heap_;
  std::uint64_t wanted_;
  int threads_;
  bool counted_ = false;      ///< operators' faults are known
  double planned_pages_ = 0;  ///< that the next iteration is to fault on
  std::uint64_t faults_before_ = 0;
  std::vector<Block> blocks_;  ///< likeliest to fault first
};

/// A block for a tensor, from c10::alloc_cpu; its pages are new if the iteration wants them to be.
[[nodiscard]] void* allocate_block(std::size_t bytes);

/// To be called before a block is freed, with at least the bytes that were asked for. True: the
/// heap keeps the block, it is not to be freed.
[[nodiscard]] bool takes_over(void* block, std::size_t bytes);

/// Minor page faults of this process so far.
[[nodiscard]] std::uint64_t minor_faults();

}  // namespace understudy::replayer
