#include "replayer/heap.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <utility>

namespace understudy::replayer {
namespace {

/// The largest threshold that glibc raises itself to: larger blocks are mapped one by one.
constexpr int kMostMappedThreshold = 32 << 20;
/// Smaller blocks lie in holes of the heap, which the C library keeps.
constexpr std::size_t kLeastBytes = std::size_t{64} << 10U;
/// Of the difference between wanted and seen faults, what one iteration makes up for.
constexpr double kCorrection = 0.5;
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// What is done to blocks as they are freed: all from `whole` bytes on are given back, and of those
/// of `part` bytes a share, evenly spread.
struct Plan {
  std::atomic<std::size_t> whole{kNone};
  std::atomic<std::size_t> part{kNone};
  std::atomic<std::uint32_t> share{0};  ///< of 2^16
  std::atomic<std::uint32_t> sum{0};
};
constexpr std::uint32_t kAll = 1U << 16U;

Plan the_plan;
std::atomic<bool> looking{false};
std::mutex seen_mutex;
std::map<std::size_t, std::uint64_t> seen;

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Whole pages inside of a block: its ends hold the C library's own words.
std::size_t inner_pages(std::size_t bytes) {
  return bytes / page_bytes() - 1;
}

bool is_given_back(std::size_t bytes) {
  if (bytes >= the_plan.whole.load(std::memory_order_relaxed)) {
    return true;
  }
  if (bytes != the_plan.part.load(std::memory_order_relaxed)) {
    return false;
  }
  const std::uint32_t share = the_plan.share.load(std::memory_order_relaxed);
  const std::uint32_t before = the_plan.sum.fetch_add(share, std::memory_order_relaxed) % kAll;
  return before + share >= kAll;
}

void give_back(void* block, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t first = (begin / page_bytes() + 1) * page_bytes();
  const std::uintptr_t last = (begin + bytes) / page_bytes() * page_bytes();
  if (first < last) {
    madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  }
}

}  // namespace

void before_free(void* block, std::size_t bytes) {
  if (bytes < kLeastBytes || bytes >= static_cast<std::size_t>(kMostMappedThreshold)) {
    return;
  }
  if (looking.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(seen_mutex);
    ++seen[bytes];
  }
  if (is_given_back(bytes)) {
    give_back(block, bytes);
  }
}

std::uint64_t minor_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_minflt);
}

void HeapPages::keep_heap() {
  mallopt(M_MMAP_THRESHOLD, kMostMappedThreshold);
  mallopt(M_TRIM_THRESHOLD, -1);
}

HeapPages::~HeapPages() {
  the_plan.whole = kNone;
  the_plan.part = kNone;
}

void HeapPages::begin() {
  looking = !looked_;
  faults_before_ = minor_faults();
}

void HeapPages::end() {
  const auto faults = static_cast<double>(minor_faults() - faults_before_);
  if (!looked_) {
    looked_ = true;
    looking = false;
    const std::lock_guard lock(seen_mutex);
    frees_ = std::move(seen);
    seen.clear();
    planned_pages_ = static_cast<double>(wanted_);
  } else {
    double most = 0;
    for (const auto& [bytes, count] : frees_) {
      most += static_cast<double>(inner_pages(bytes) * count);
    }
    planned_pages_ = std::clamp(
        planned_pages_ + kCorrection * (static_cast<double>(wanted_) - faults), 0.0, most);
  }
  plan();
}

/// From the largest blocks down, until their pages are as many as planned.
void HeapPages::plan() {
  double left = planned_pages_;
  std::size_t whole = kNone;
  std::size_t part = kNone;
  std::uint32_t share = 0;
  for (auto size = frees_.rbegin(); size != frees_.rend() && left >= 1; ++size) {
    const auto pages = static_cast<double>(inner_pages(size->first) * size->second);
    if (pages <= left) {
      whole = size->first;
      left -= pages;
    } else {
      part = size->first;
      share = static_cast<std::uint32_t>(left / pages * kAll);
      left = 0;
    }
  }
  the_plan.whole = whole;
  the_plan.part = part;
  the_plan.share = share;
}

}  // namespace understudy::replayer
