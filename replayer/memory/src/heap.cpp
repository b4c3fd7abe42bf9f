#include "replayer/memory/heap.h"

#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "heap_blocks.h"

namespace understudy::replayer {
namespace {

/// The share of the difference between wanted and actual faults that one iteration corrects.
constexpr double kCorrection = 0.5;
/// Shares that differ by less are equal.
constexpr double kShareStep = 0.25;

}  // namespace

void* allocate_block(std::size_t bytes) {
  return HeapBlocks::of_process().allocate(bytes);
}

bool takes_over(void* block, std::size_t bytes) {
  return HeapBlocks::of_process().takes_over(block, bytes);
}

std::uint64_t minor_faults() {
  return HeapBlocks::of_process().system().minor_faults();
}

void HeapPages::keep_heap() {
  mallopt(M_MMAP_THRESHOLD, static_cast<int>(kMostMappedThreshold));
  mallopt(M_TRIM_THRESHOLD, -1);
}

HeapPages::HeapPages(std::uint64_t faults, int threads)
    : HeapPages(faults, threads, HeapBlocks::of_process()) {}

HeapPages::HeapPages(std::uint64_t faults, int threads, HeapBlocks& heap)
    : heap_(heap), wanted_(faults), threads_(threads) {}

HeapPages::~HeapPages() {
  heap_.forget();
}

void HeapPages::begin_learning() {
  heap_.begin(HeapBlocks::Mode::kLearning);
}

void HeapPages::learn(std::span<const et_schema::HeapBlock> original,
                      std::optional<std::int64_t> faults) {
  counted_ = counted_ || faults.has_value();
  heap_.learn(original, faults.value_or(0), threads_);
}

void HeapPages::end_learning() {
  heap_.end();
  blocks_ = heap_.learnt();
  std::ranges::stable_sort(blocks_, std::greater<>(), [this](const Block& block) {
    // If faults are known, the address of a block without faults is irrelevant.
    const bool by_address = !counted_ || block.fault_share > 0;
    return std::tuple(std::lround(block.fault_share / kShareStep),
                      by_address && block.address.has_value(),
                      by_address ? block.address.value_or(0) : 0, block.bytes);
  });
  planned_pages_ = static_cast<double>(wanted_);
  plan();
}

void HeapPages::begin() {
  heap_.begin(HeapBlocks::Mode::kGivingBack);
  faults_before_ = heap_.system().minor_faults();
}

void HeapPages::end() {
  const auto faults = static_cast<double>(heap_.system().minor_faults() - faults_before_);
  heap_.end();
  double most = 0;
  for (const Block& block : blocks_) {
    most += static_cast<double>(heap_.inner_pages(block.bytes));
  }
  planned_pages_ =
      std::clamp(planned_pages_ + kCorrection * (static_cast<double>(wanted_) - faults), 0.0, most);
  plan();
}

void HeapPages::plan() {
  auto left = static_cast<std::size_t>(planned_pages_);
  for (const Block& block : blocks_) {
    const std::size_t pages = std::min(left, heap_.inner_pages(block.bytes));
    heap_.plan(block, pages);
    left -= pages;
  }
}

}  // namespace understudy::replayer
