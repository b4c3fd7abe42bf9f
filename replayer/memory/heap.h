#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::replayer {

class HeapBlocks;

/// The largest mmap threshold that glibc chooses by itself: larger blocks are always mapped.
inline constexpr std::size_t kMostMappedThreshold = std::size_t{32} << 20U;

/// Controls how many page faults an iteration has on its tensors' memory, and on which tensors.
///
/// In the original, chance decides if a step's tensors use pages that the process already has. The
/// C library returns memory to the system when enough of it is free at the top of the heap, which
/// depends on other blocks there, Python's for example. Within one process some steps have ten
/// thousand faults and others none; the faults take a tenth of the step's time. Without control, a
/// replay would have another number of faults. So this class keeps the heap and reproduces the
/// original's number: it returns the pages of blocks when they are freed, and reserves the blocks
/// for the same tensors of the next iteration. If the capture counted faults by operator, blocks
/// with faults come first, then the largest. Otherwise the blocks with the highest addresses come
/// first, since the C library returns the top of the heap. Blocks are selected until the number of
/// faults is reached, the last one in part. A freed block's pages are returned when all blocks at
/// higher addresses are free too.
class HeapPages {
 public:
  /// A block of an iteration: number `place`, from 0, among blocks of this size.
  struct Block {
    std::size_t bytes = 0;
    std::uint32_t place = 0;
    /// Share of the block that faulted in the original, if the operators' faults are known.
    double fault_share = 0;
    std::optional<std::uint64_t> address =
        {};  ///< in the original; blocks without one come last, the largest first
  };

  /// Stops the C library from returning memory by itself, until the process ends. Blocks above its
  /// largest threshold (32 MiB) are still mapped and unmapped one by one, as in the original. Must
  /// be called before tensors are made.
  static void keep_heap();

  /// `faults` is the target per iteration. `threads` share an operator's work, here and in the
  /// original; the faults recorded for an operator are of one thread.
  HeapPages(std::uint64_t faults, int threads);
  /// Uses `heap` instead of the process's heap.
  HeapPages(std::uint64_t faults, int threads, HeapBlocks& heap);
  ~HeapPages();
  HeapPages(const HeapPages&) = delete;
  HeapPages& operator=(const HeapPages&) = delete;

  /// Learns which blocks an iteration allocates. Must be called before an iteration that is not
  /// timed, and end_learning() after it.
  void begin_learning();
  /// Must be called after each operator, with the original's allocations and faults in it, as far
  /// as they are known. Blocks are identified by size; of equal sizes, the first one. Faults are
  /// assigned to the operator's allocations, then to the latest ones before it: an operator can
  /// allocate memory that the next one writes.
  void learn(std::span<const et_schema::HeapBlock> original, std::optional<std::int64_t> faults);
  void end_learning();

  /// Must be called before an iteration, outside of the timed part.
  void begin();
  /// Must be called after an iteration; its faults correct the plan of the next one.
  void end();

 private:
  void plan();

  HeapBlocks& heap_;
  std::uint64_t wanted_;
  int threads_;
  bool counted_ = false;      ///< the operators' faults are known
  double planned_pages_ = 0;  ///< number of pages planned to fault in the next iteration
  std::uint64_t faults_before_ = 0;
  std::vector<Block> blocks_;  ///< most likely to fault first
};

/// Allocates a block for a tensor by c10::alloc_cpu. Its pages are new if the iteration plans
/// faults on it.
[[nodiscard]] void* allocate_block(std::size_t bytes);

/// Must be called before a block is freed, with at least the bytes requested. Returns true if the
/// heap keeps the block, which must then not be freed.
[[nodiscard]] bool takes_over(void* block, std::size_t bytes);

/// Returns the minor page faults of this process so far.
[[nodiscard]] std::uint64_t minor_faults();

}  // namespace understudy::replayer
