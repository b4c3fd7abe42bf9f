#include "replayer/heap.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace understudy::replayer {
namespace {

/// The largest threshold that glibc raises itself to: larger blocks are mapped one by one.
constexpr int kMostMappedThreshold = 32 << 20;
constexpr std::size_t kBlockBytes = std::size_t{1} << 20U;
/// Of the difference between wanted and seen faults, what one iteration makes up for.
constexpr double kCorrection = 0.5;

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

std::uint64_t minor_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_minflt);
}

void HeapPages::keep_heap() {
  mallopt(M_MMAP_THRESHOLD, kMostMappedThreshold);
  mallopt(M_TRIM_THRESHOLD, -1);
}

HeapPages::HeapPages(std::uint64_t free_bytes, std::uint64_t faults)
    : free_bytes_(free_bytes), wanted_(faults), released_pages_(static_cast<double>(faults)) {}

void HeapPages::begin() {
  const auto most = static_cast<double>(free_bytes_ / page_bytes());
  release(static_cast<std::size_t>(std::clamp(released_pages_, 0.0, most)));
  faults_before_ = minor_faults();
}

void HeapPages::end() {
  const auto seen = static_cast<double>(minor_faults() - faults_before_);
  const double most = static_cast<double>(free_bytes_) / static_cast<double>(page_bytes());
  released_pages_ =
      std::clamp(released_pages_ + kCorrection * (static_cast<double>(wanted_) - seen), 0.0, most);
}

/// Takes all free memory in blocks, from low addresses to high ones as the C library hands it out,
/// and gives the pages of the last ones back: what trimming the top of the heap does.
void HeapPages::release(std::size_t pages) {
  if (pages == 0) {
    return;
  }
  blocks_.clear();
  for (std::uint64_t taken = 0; taken < free_bytes_; taken += kBlockBytes) {
    blocks_.push_back(std::malloc(kBlockBytes));
  }
  std::sort(blocks_.begin(), blocks_.end());
  for (std::size_t i = blocks_.size(); i-- > 0 && pages > 0;) {
    const auto begin = reinterpret_cast<std::uintptr_t>(blocks_[i]);
    // Its first page holds the C library's own words.
    const std::uintptr_t first = (begin / page_bytes() + 1) * page_bytes();
    const std::size_t inside = (begin + kBlockBytes - first) / page_bytes();
    const std::size_t given = std::min(inside, pages);
    madvise(reinterpret_cast<void*>(first + (inside - given) * page_bytes()), given * page_bytes(),
            MADV_DONTNEED);
    pages -= given;
  }
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    std::free(*block);
  }
}

}  // namespace understudy::replayer
