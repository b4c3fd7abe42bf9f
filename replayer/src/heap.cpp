#include "replayer/heap.h"

#include <c10/core/impl/alloc_cpu.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace understudy::replayer {
namespace {

/// The largest threshold that glibc raises itself to: larger blocks are mapped one by one.
constexpr std::size_t kMostMappedThreshold = std::size_t{32} << 20U;
constexpr auto kLeastBytes = static_cast<std::size_t>(et_schema::kLeastHeapBlockBytes);
/// Of the difference between wanted and seen faults, what one iteration makes up for.
constexpr double kCorrection = 0.5;
/// An operator whose own thread meets faults on so much of its part of a block, in the mean over
/// steps, meets them on all of it at times. Few are no block's.
constexpr double kLeastShare = 0.3;
/// Shares that differ by less are alike.
constexpr double kShareStep = 0.25;
/// Blocks back from an operator that it may be the first to write.
constexpr std::size_t kMostLooked = 8;

std::size_t page_bytes() {
  static const auto kBytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return kBytes;
}

/// The last `pages` whole pages inside of a block: its ends hold the C library's own words.
struct Span {
  std::byte* begin = nullptr;
  std::byte* end = nullptr;

  static Span of(void* block, std::size_t bytes, std::size_t pages) {
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    auto* const start = static_cast<std::byte*>(block);
    std::byte* const first = start + (page_bytes() - address % page_bytes());
    std::byte* const last = start + bytes - (address + bytes) % page_bytes();
    if (last <= first) {
      return {};
    }
    const auto most = static_cast<std::size_t>(last - first);
    return {last - std::min(most, pages * page_bytes()), last};
  }
  void give_back() const {
    if (begin < end) {
      madvise(begin, static_cast<std::size_t>(end - begin), MADV_DONTNEED);
    }
  }
};

std::size_t inner_pages(std::size_t bytes) {
  return bytes / page_bytes() - 1;
}

/// What allocations and frees of one iteration do. Blocks of one size are counted, since operators
/// on several threads allocate in an order that changes, but rarely of the same size.
class Iteration {
 public:
  enum class Mode : std::uint8_t { kIdle, kLearning, kGivingBack };

  [[nodiscard]] bool is_idle() const {
    return mode_.load(std::memory_order_relaxed) == Mode::kIdle;
  }

  /// Their frees are to be told even between iterations.
  [[nodiscard]] bool has_blocks() const { return has_blocks_.load(std::memory_order_relaxed); }

  void begin(Mode mode) {
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
  /// What was freed before this iteration and still waits goes: it waits for something that is
  /// never free.
  void end() {
    const std::lock_guard lock(mutex_);
    mode_ = Mode::kIdle;
    release(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(waited_before_));
    waited_before_ = waiting_.size();
  }

  void* allocate(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (mode_ == Mode::kLearning) {
      learnt_.push_back({bytes, sizes_[bytes].allocated++});
      return c10::alloc_cpu(bytes);
    }
    const auto size = sizes_.find(bytes);
    if (size == sizes_.end()) {
      return c10::alloc_cpu(bytes);
    }
    const std::uint32_t place = size->second.allocated++;
    std::vector<Planned>& planned = size->second.planned;
    return place < planned.size() && planned[place].pages > 0
               ? allocate_fresh(bytes, place, planned[place])
               : c10::alloc_cpu(bytes);
  }

  bool takes_over(void* block) {
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

  void learn(const et_schema::Timing* original, int threads) {
    const std::lock_guard lock(mutex_);
    if (original != nullptr) {
      find_addresses(original->blocks);
      find_faults(original->page_faults.value_or(0), threads);
    }
    told_ = learnt_.size();
  }
  [[nodiscard]] std::vector<HeapPages::Block> learnt() {
    const std::lock_guard lock(mutex_);
    told_ = 0;
    return std::move(learnt_);
  }

  /// `pages`: the last ones of the block, that are to fault.
  void plan(const HeapPages::Block& block, std::size_t pages) {
    const std::lock_guard lock(mutex_);
    std::vector<Planned>& of_size = sizes_[block.bytes].planned;
    of_size.resize(std::max<std::size_t>(of_size.size(), block.place + 1));
    of_size[block.place].pages = pages;
    of_size[block.place].address = block.address.value_or(0);
  }
  void forget() {
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

  /// One whose pages were given back when it was freed, as in the original: the operator that
  /// allocates it pays for the faults, not for the giving back.
  void* allocate_fresh(std::size_t bytes, std::uint32_t place, Planned& planned) {
    void* const given_back = std::exchange(planned.given_back, nullptr);
    void* const block = given_back != nullptr ? given_back : c10::alloc_cpu(bytes);
    if (given_back == nullptr || planned.given_back_pages < planned.pages) {
      Span::of(block, bytes, planned.pages).give_back();
    }
    has_blocks_ = true;
    fresh_[block] = {block, bytes, place, planned.pages, planned.address};
    highest_.insert(planned.address);
    return block;
  }

  void find_addresses(const std::vector<et_schema::HeapBlock>& original) {
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
  void find_faults(std::int64_t faults, int threads) {
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

  void free_given_back() {
    for (auto& [bytes, size] : sizes_) {
      for (Planned& planned : size.planned) {
        c10::free_cpu(std::exchange(planned.given_back, nullptr));
      }
    }
  }
  void give_back(const FreshBlock& block) {
    std::vector<Planned>& planned = sizes_[block.bytes].planned;
    if (block.place >= planned.size() || planned[block.place].given_back != nullptr) {
      c10::free_cpu(block.block);
      return;
    }
    Span::of(block.block, block.bytes, block.pages).give_back();
    planned[block.place].given_back = block.block;
    planned[block.place].given_back_pages = block.pages;
  }

  /// Gives the pages back of what lay higher than all that is in use.
  void release_top() {
    const auto is_below_top = [this](const FreshBlock& block) {
      return !highest_.empty() && block.address <= *highest_.rbegin();
    };
    const auto before = waiting_.begin() + static_cast<std::ptrdiff_t>(waited_before_);
    waited_before_ =
        static_cast<std::size_t>(std::count_if(waiting_.begin(), before, is_below_top));
    release(std::stable_partition(waiting_.begin(), waiting_.end(), is_below_top), waiting_.end());
  }
  void release(Waiting begin, Waiting end) {
    std::for_each(begin, end, [this](const FreshBlock& each) { give_back(each); });
    waiting_.erase(begin, end);
  }

  std::atomic<Mode> mode_ = Mode::kIdle;
  std::atomic<bool> has_blocks_ = false;
  std::mutex mutex_;
  std::map<std::size_t, Size> sizes_;  ///< by bytes
  std::vector<HeapPages::Block> learnt_;
  std::size_t told_ = 0;  ///< of them: those that an operator is known to have allocated
  std::unordered_map<void*, FreshBlock> fresh_;  ///< blocks in use that faulted
  std::multiset<std::uint64_t> highest_;         ///< their addresses in the original
  std::vector<FreshBlock> waiting_;              ///< freed, but not on top
  std::size_t waited_before_ = 0;                ///< of them, since before this iteration
};

Iteration the_iteration;

}  // namespace

void* allocate_block(std::size_t bytes) {
  const bool is_of_heap = bytes >= kLeastBytes && bytes < kMostMappedThreshold;
  return is_of_heap && !the_iteration.is_idle() ? the_iteration.allocate(bytes)
                                                : c10::alloc_cpu(bytes);
}

bool takes_over(void* block, std::size_t bytes) {
  return bytes >= kLeastBytes && the_iteration.has_blocks() && the_iteration.takes_over(block);
}

std::uint64_t minor_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_minflt);
}

void HeapPages::keep_heap() {
  mallopt(M_MMAP_THRESHOLD, static_cast<int>(kMostMappedThreshold));
  mallopt(M_TRIM_THRESHOLD, -1);
}

HeapPages::~HeapPages() {
  the_iteration.forget();
}

void HeapPages::begin_learning() {
  the_iteration.begin(Iteration::Mode::kLearning);
}

void HeapPages::learn(const et_schema::Timing* original) {
  counted_ = counted_ || (original != nullptr && original->page_faults.has_value());
  the_iteration.learn(original, threads_);
}

void HeapPages::end_learning() {
  the_iteration.end();
  blocks_ = the_iteration.learnt();
  std::ranges::stable_sort(blocks_, std::greater<>(), [this](const Block& block) {
    // High blocks that were seen not to fault are not the likeliest.
    const bool by_address = !counted_ || block.fault_share > 0;
    return std::tuple(std::lround(block.fault_share / kShareStep),
                      by_address && block.address.has_value(),
                      by_address ? block.address.value_or(0) : 0, block.bytes);
  });
  planned_pages_ = static_cast<double>(wanted_);
  plan();
}

void HeapPages::begin() {
  the_iteration.begin(Iteration::Mode::kGivingBack);
  faults_before_ = minor_faults();
}

void HeapPages::end() {
  const auto faults = static_cast<double>(minor_faults() - faults_before_);
  the_iteration.end();
  double most = 0;
  for (const Block& block : blocks_) {
    most += static_cast<double>(inner_pages(block.bytes));
  }
  planned_pages_ =
      std::clamp(planned_pages_ + kCorrection * (static_cast<double>(wanted_) - faults), 0.0, most);
  plan();
}

void HeapPages::plan() {
  auto left = static_cast<std::size_t>(planned_pages_);
  for (const Block& block : blocks_) {
    const std::size_t pages = std::min(left, inner_pages(block.bytes));
    the_iteration.plan(block, pages);
    left -= pages;
  }
}

}  // namespace understudy::replayer
