#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "replayer/memory/heap.h"

namespace understudy::replayer {

/// The heap's interface to the C library and the kernel. Tests use one with artificial blocks and
/// pages, since a real heap's addresses and faults are unpredictable.
class HeapSystem {
 public:
  HeapSystem() = default;
  virtual ~HeapSystem() = default;
  HeapSystem(const HeapSystem&) = delete;
  HeapSystem& operator=(const HeapSystem&) = delete;

  [[nodiscard]] virtual std::size_t page_bytes() const = 0;
  [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* block) = 0;  ///< null is allowed
  /// Returns whole pages from `begin` on to the kernel: the next write to a page faults and finds
  /// zeros.
  virtual void give_back(std::uintptr_t begin, std::size_t bytes) = 0;
  [[nodiscard]] virtual std::uint64_t minor_faults() const = 0;  ///< for the process so far
};

/// Handles the allocations and frees of an iteration. Blocks are counted by size: operators on
/// several threads allocate in varying order, but rarely of the same size.
class HeapBlocks {
 public:
  enum class Mode : std::uint8_t { kIdle, kLearning, kGivingBack };

  explicit HeapBlocks(HeapSystem& system) : system_(system) {}

  /// Returns the instance that tensors allocate from.
  static HeapBlocks& of_process();

  [[nodiscard]] HeapSystem& system() const { return system_; }
  /// Returns the number of pages wholly inside a block of `bytes`, for any begin.
  [[nodiscard]] std::size_t inner_pages(std::size_t bytes) const;

  [[nodiscard]] void* allocate(std::size_t bytes);
  /// Must be called before a block is freed; returns true if the block is kept. `bytes` is at least
  /// the requested size.
  [[nodiscard]] bool takes_over(void* block, std::size_t bytes);

  void begin(Mode mode);
  /// Returns the pages of freed blocks that have waited since before this iteration: the blocks
  /// above them may never be freed.
  void end();

  /// Must be called after an operator of the learning iteration; see HeapPages::learn.
  void learn(std::span<const et_schema::HeapBlock> original, std::int64_t faults, int threads);
  [[nodiscard]] std::vector<HeapPages::Block> learnt();

  /// `pages` is the number of the block's last pages planned to fault.
  void plan(const HeapPages::Block& block, std::size_t pages);
  void forget();

 private:
  struct Planned {
    std::size_t pages = 0;
    std::uint64_t address = 0;
    /// A block reserved for the next iteration; nothing writes to it.
    void* given_back = nullptr;
    std::size_t given_back_pages = 0;
  };
  struct Size {
    std::uint32_t allocated = 0;   ///< in this iteration
    std::vector<Planned> planned;  ///< by place
  };
  struct FreshBlock {
    void* block = nullptr;
    std::size_t bytes = 0;
    std::uint32_t place = 0;
    std::size_t pages = 0;
    std::uint64_t address = 0;
  };
  using Waiting = std::vector<FreshBlock>::iterator;

  void* allocate_planned(std::size_t bytes);
  void* allocate_fresh(std::size_t bytes, std::uint32_t place, Planned& planned);
  bool take_over(void* block);
  void find_addresses(std::span<const et_schema::HeapBlock> original);
  void find_faults(std::int64_t faults, int threads);
  void give_back_pages(void* block, std::size_t bytes, std::size_t pages);
  void give_back(const FreshBlock& block);
  void free_given_back();
  void release_top();
  void release(Waiting begin, Waiting end);

  HeapSystem& system_;
  std::atomic<Mode> mode_ = Mode::kIdle;
  /// True if frees must be reported between iterations too.
  std::atomic<bool> has_blocks_ = false;
  std::mutex mutex_;
  std::map<std::size_t, Size> sizes_;  ///< by bytes
  std::vector<HeapPages::Block> learnt_;
  std::size_t told_ = 0;  ///< number of `learnt_` already assigned to operators
  std::unordered_map<void*, FreshBlock> fresh_;  ///< blocks in use that faulted
  std::multiset<std::uint64_t> highest_;         ///< the original's addresses of `fresh_`
  std::vector<FreshBlock> waiting_;              ///< freed blocks that are not on top yet
  std::size_t waited_before_ = 0;  ///< number of `waiting_` from before this iteration
};

}  // namespace understudy::replayer
