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

/// Decides how many page faults an iteration meets on its tensors' memory, and on which of its
/// tensors.
///
/// Whether a step's tensors lie on pages that the process already has is chance in the original.
/// The C library gives memory back to the system when enough of it is free at the top of the heap,
/// and that depends on what else lies there, of Python's for example. Within one process some steps
/// have ten thousand faults and some none, a tenth of the step's time apart. A replay would have
/// its own number. So it keeps its heap and makes as many faults as the original: it returns the
/// pages of blocks when they are freed, and keeps these blocks for the same tensors of the next
/// iteration. The blocks that operators met faults on in the original come first, if its capture
/// counted them, then the largest. If nothing was counted, the blocks that lay highest come first,
/// since the C library returns the top of the heap. Blocks are taken until the number of faults is
/// reached, the last one in part. A freed block's pages are returned when all blocks that lay
/// higher are free too.
class HeapPages {
 public:
  /// A block of an iteration: number `place`, from 0, among those of this size.
  struct Block {
    std::size_t bytes = 0;
    std::uint32_t place = 0;
    /// Share of the block that faulted in the original, as far as operators tell.
    double fault_share = 0;
    std::optional<std::uint64_t> address =
        {};  ///< there; unknown ones come last, the largest first
  };

  /// Stops the C library from giving memory back by itself, for the rest of the process. Blocks
  /// above its largest threshold (32 MiB) are still mapped and unmapped one by one, as in the
  /// original. To be called before tensors are made.
  static void keep_heap();

  /// `faults` is the number wanted per iteration. `threads` share an operator's work, here and in
  /// the original; the faults recorded for an operator are those of one thread.
  HeapPages(std::uint64_t faults, int threads);
  /// Uses another heap than the process's.
  HeapPages(std::uint64_t faults, int threads, HeapBlocks& heap);
  ~HeapPages();
  HeapPages(const HeapPages&) = delete;
  HeapPages& operator=(const HeapPages&) = delete;

  /// Call it before an iteration that is not timed, and end_learning() after it, to learn which
  /// blocks an iteration allocates.
  void begin_learning();
  /// Call it after each operator, with what the original allocated and faulted on in it, as far as
  /// that is known. Blocks are identified by size, the first of equals. Faults are assigned to what
  /// the operator allocated, then to what was allocated last before it: one operator can allocate
  /// memory that the next one writes.
  void learn(std::span<const et_schema::HeapBlock> original, std::optional<std::int64_t> faults);
  void end_learning();

  /// Call it before an iteration, outside of the timed part.
  void begin();
  /// Call it after an iteration: the faults that it met correct those of the next one.
  void end();

 private:
  void plan();

  HeapBlocks& heap_;
  std::uint64_t wanted_;
  int threads_;
  bool counted_ = false;      ///< operators' faults are known
  double planned_pages_ = 0;  ///< number of pages on which the next iteration is to fault
  std::uint64_t faults_before_ = 0;
  std::vector<Block> blocks_;  ///< those most likely to fault come first
};

/// A block for a tensor, from c10::alloc_cpu; its pages are new if the iteration plans faults on
/// it.
[[nodiscard]] void* allocate_block(std::size_t bytes);

/// To be called before a block is freed, with at least the bytes that were asked for. True: the
/// heap keeps the block, and it must not be freed.
[[nodiscard]] bool takes_over(void* block, std::size_t bytes);

/// Minor page faults of this process so far.
[[nodiscard]] std::uint64_t minor_faults();

}  // namespace understudy::replayer
