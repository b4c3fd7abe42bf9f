#include "heap_blocks.h"

#include <c10/core/impl/alloc_cpu.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace understudy::replayer {
namespace {

constexpr auto kLeastBytes = static_cast<std::size_t>(et_schema::kLeastHeapBlockBytes);
/// Least share of a block's pages that fault, for faults to be assigned to the block. The share is
/// a mean over the original's steps: an operator may fault on the whole block in some steps only.
constexpr double kLeastShare = 0.3;
/// Number of latest blocks that an operator may be the first to write.
constexpr std::size_t kMostLooked = 8;

class ProcessSystem final : public HeapSystem {
 public:
  [[nodiscard]] std::size_t page_bytes() const override {
    static const auto kBytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return kBytes;
  }
  [[nodiscard]] void* allocate(std::size_t bytes) override { return c10::alloc_cpu(bytes); }
  void free(void* block) override { c10::free_cpu(block); }
  void give_back(std::uintptr_t begin, std::size_t bytes) override {
    madvise(reinterpret_cast<void*>(begin), bytes, MADV_DONTNEED);
  }
  [[nodiscard]] std::uint64_t minor_faults() const override {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_minflt);
  }
};

ProcessSystem process_system;
HeapBlocks process_blocks(process_system);

}  // namespace

HeapBlocks& HeapBlocks::of_process() {
  return process_blocks;
}

std::size_t HeapBlocks::inner_pages(std::size_t bytes) const {
  return bytes / system_.page_bytes() - 1;
}

void HeapBlocks::begin(Mode mode) {
  const std::lock_guard lock(mutex_);
  for (auto& [bytes, size] : sizes_) {
    size.allocated = 0;
  }
  if (mode == Mode::kLearning) {
    free_given_back();
    sizes_.clear();
    learnt_.clear();
  }
  mode_ = mode;
}

void HeapBlocks::end() {
  const std::lock_guard lock(mutex_);
  mode_ = Mode::kIdle;
  release(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(waited_before_));
  waited_before_ = waiting_.size();
}

void* HeapBlocks::allocate(std::size_t bytes) {
  const bool is_of_heap = bytes >= kLeastBytes && bytes < kMostMappedThreshold;
  return is_of_heap && mode_.load(std::memory_order_relaxed) != Mode::kIdle
             ? allocate_planned(bytes)
             : system_.allocate(bytes);
}

void* HeapBlocks::allocate_planned(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (mode_ == Mode::kLearning) {
    learnt_.push_back({bytes, sizes_[bytes].allocated++});
    return system_.allocate(bytes);
  }
  const auto size = sizes_.find(bytes);
  if (size == sizes_.end()) {
    return system_.allocate(bytes);
  }
  const std::uint32_t place = size->second.allocated++;
  std::vector<Planned>& planned = size->second.planned;
  // A reserved block is used even if it is no longer planned to fault: another block would be new
  // memory.
  const bool is_planned =
      place < planned.size() && (planned[place].pages > 0 || planned[place].given_back != nullptr);
  return is_planned ? allocate_fresh(bytes, place, planned[place]) : system_.allocate(bytes);
}

/// Allocates a block whose pages were returned when it was freed, as in the original: the
/// allocating operator pays for the faults, not for returning the pages.
void* HeapBlocks::allocate_fresh(std::size_t bytes, std::uint32_t place, Planned& planned) {
  void* const given_back = std::exchange(planned.given_back, nullptr);
  void* const block = given_back != nullptr ? given_back : system_.allocate(bytes);
  if (given_back == nullptr || planned.given_back_pages < planned.pages) {
    give_back_pages(block, bytes, planned.pages);
  }
  has_blocks_ = true;
  fresh_[block] = {block, bytes, place, planned.pages, planned.address};
  highest_.insert(planned.address);
  return block;
}

bool HeapBlocks::takes_over(void* block, std::size_t bytes) {
  return bytes >= kLeastBytes && has_blocks_.load(std::memory_order_relaxed) && take_over(block);
}

bool HeapBlocks::take_over(void* block) {
  const std::lock_guard lock(mutex_);
  const auto fresh = fresh_.find(block);
  const bool taken = fresh != fresh_.end();
  if (taken) {
    highest_.erase(highest_.find(fresh->second.address));
    waiting_.push_back(fresh->second);
    fresh_.erase(fresh);
    release_top();
  }
  has_blocks_ = !fresh_.empty();
  return taken;
}

void HeapBlocks::learn(std::span<const et_schema::HeapBlock> original, std::int64_t faults,
                       int threads) {
  const std::lock_guard lock(mutex_);
  find_addresses(original);
  find_faults(faults, threads);
  told_ = learnt_.size();
}

void HeapBlocks::find_addresses(std::span<const et_schema::HeapBlock> original) {
  std::vector<bool> is_taken(original.size());
  for (std::size_t k = told_; k < learnt_.size(); ++k) {
    for (std::size_t i = 0; i < original.size() && !learnt_[k].address; ++i) {
      if (!is_taken[i] && std::cmp_equal(original[i].bytes, learnt_[k].bytes)) {
        is_taken[i] = true;
        learnt_[k].address = original[i].address;
      }
    }
  }
}

void HeapBlocks::find_faults(std::int64_t faults, int threads) {
  const std::size_t oldest = learnt_.size() - std::min(learnt_.size(), kMostLooked);
  for (std::size_t k = learnt_.size(); k-- > std::min(oldest, told_);) {
    const auto pages = static_cast<double>(inner_pages(learnt_[k].bytes));
    const double share = static_cast<double>(faults) * threads / pages;
    if (pages > 0 && learnt_[k].fault_share == 0 && share >= kLeastShare) {
      learnt_[k].fault_share = std::min(share, 1.0);
      faults -= static_cast<std::int64_t>(pages);
    }
  }
}

std::vector<HeapPages::Block> HeapBlocks::learnt() {
  const std::lock_guard lock(mutex_);
  told_ = 0;
  return std::move(learnt_);
}

void HeapBlocks::plan(const HeapPages::Block& block, std::size_t pages) {
  const std::lock_guard lock(mutex_);
  std::vector<Planned>& of_size = sizes_[block.bytes].planned;
  of_size.resize(std::max<std::size_t>(of_size.size(), block.place + 1));
  of_size[block.place].pages = pages;
  of_size[block.place].address = block.address.value_or(0);
}

void HeapBlocks::forget() {
  const std::lock_guard lock(mutex_);
  mode_ = Mode::kIdle;
  fresh_.clear();
  highest_.clear();
  release(waiting_.begin(), waiting_.end());
  free_given_back();
  sizes_.clear();
  waited_before_ = 0;
  has_blocks_ = false;
}

void HeapBlocks::free_given_back() {
  for (auto& [bytes, size] : sizes_) {
    for (Planned& planned : size.planned) {
      system_.free(std::exchange(planned.given_back, nullptr));
    }
  }
}

/// Returns the last `pages` whole pages inside of the block; its ends hold words of the C library.
void HeapBlocks::give_back_pages(void* block, std::size_t bytes, std::size_t pages) {
  const auto begin = reinterpret_cast<std::uintptr_t>(block);
  const std::size_t page = system_.page_bytes();
  const std::uintptr_t first = begin + (page - begin % page);
  const std::uintptr_t last = begin + bytes - (begin + bytes) % page;
  const std::size_t inside = last > first ? std::min(last - first, pages * page) : 0;
  if (inside > 0) {
    system_.give_back(last - inside, inside);
  }
}

void HeapBlocks::give_back(const FreshBlock& block) {
  std::vector<Planned>& planned = sizes_[block.bytes].planned;
  if (block.place >= planned.size() || planned[block.place].given_back != nullptr) {
    system_.free(block.block);
    return;
  }
  give_back_pages(block.block, block.bytes, block.pages);
  planned[block.place].given_back = block.block;
  planned[block.place].given_back_pages = block.pages;
}

/// Returns the pages of freed blocks above all blocks in use.
void HeapBlocks::release_top() {
  const auto is_below_top = [this](const FreshBlock& block) {
    return !highest_.empty() && block.address <= *highest_.rbegin();
  };
  const auto before = waiting_.begin() + static_cast<std::ptrdiff_t>(waited_before_);
  waited_before_ = static_cast<std::size_t>(std::count_if(waiting_.begin(), before, is_below_top));
  release(std::stable_partition(waiting_.begin(), waiting_.end(), is_below_top), waiting_.end());
}

void HeapBlocks::release(Waiting begin, Waiting end) {
  std::for_each(begin, end, [this](const FreshBlock& each) { give_back(each); });
  waiting_.erase(begin, end);
}

}  // namespace understudy::replayer
