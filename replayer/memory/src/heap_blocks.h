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

/// What the heap asks of the C library and of the kernel. Tests have one of their own, whose blocks
/// and pages are made up: where a real one puts blocks, and what faults, is not ours to foresee.
class HeapSystem {
 public:
  HeapSystem() = default;
  virtual ~HeapSystem() = default;
  HeapSystem(const HeapSystem&) = delete;
  HeapSystem& operator=(const HeapSystem&) = delete;

  [[nodiscard]] virtual std::size_t page_bytes() const = 0;
  [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* block) = 0;  ///< null is allowed
  /// Whole pages from `begin` on: the next write on one faults, and finds zeros.
  virtual void give_back(std::uintptr_t begin, std::size_t bytes) = 0;
  [[nodiscard]] virtual std::uint64_t minor_faults() const = 0;  ///< of the process so far
};

/// What allocations and frees of one iteration do. Blocks of one size are counted, since operators
/// on several threads allocate in an order that changes, but rarely of the same size.
class HeapBlocks {
 public:
  enum class Mode : std::uint8_t { kIdle, kLearning, kGivingBack };

  explicit HeapBlocks(HeapSystem& system) : system_(system) {}

  /// The one that tensors' memory comes from.
  static HeapBlocks& of_process();

  [[nodiscard]] HeapSystem& system() const { return system_; }
  /// The pages that a block of `bytes` contains whole, wherever it begins.
  [[nodiscard]] std::size_t inner_pages(std::size_t bytes) const;

  /// A block for a tensor.
  [[nodiscard]] void* allocate(std::size_t bytes);
  /// Before a block is freed: whether it is kept. `bytes`: at least those that were asked for.
  [[nodiscard]] bool takes_over(void* block, std::size_t bytes);

  void begin(Mode mode);
  /// What was freed before this iteration and still waits goes: it waits for something that is
  /// never free.
  void end();

  /// After an operator of the learning iteration; see HeapPages::learn.
  void learn(std::span<const et_schema::HeapBlock> original, std::int64_t faults, int threads);
  [[nodiscard]] std::vector<HeapPages::Block> learnt();

  /// `pages`: the last ones of the block, that are to fault.
  void plan(const HeapPages::Block& block, std::size_t pages);
  void forget();

 private:
  struct Planned {
    std::size_t pages = 0;
    std::uint64_t address = 0;
    void* given_back = nullptr;  ///< a block that waits for the next iteration: nobody writes on it
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
  std::atomic<bool> has_blocks_ = false;  ///< their frees are to be told even between iterations
  std::mutex mutex_;
  std::map<std::size_t, Size> sizes_;  ///< by bytes
  std::vector<HeapPages::Block> learnt_;
  std::size_t told_ = 0;  ///< of them: those that an operator is known to have allocated
  std::unordered_map<void*, FreshBlock> fresh_;  ///< blocks in use that faulted
  std::multiset<std::uint64_t> highest_;         ///< their addresses in the original
  std::vector<FreshBlock> waiting_;              ///< freed, but not on top
  std::size_t waited_before_ = 0;                ///< of them, since before this iteration
};

}  // namespace understudy::replayer
