#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "heap_blocks.h"

namespace understudy::replayer::testing {

/// A C library and a kernel with made-up blocks: nothing lies at their addresses. Blocks begin a
/// header behind a page's begin, lie one behind the other and are handed out again by size, the one
/// that was freed last first. A page that nobody wrote, or that was given back, faults once.
class FakeHeapSystem final : public HeapSystem {
 public:
  static constexpr std::size_t kPageBytes = 4096;
  static constexpr std::uintptr_t kHeaderBytes = 16;

  [[nodiscard]] std::size_t page_bytes() const override { return kPageBytes; }
  [[nodiscard]] void* allocate(std::size_t bytes) override {
    std::vector<std::uintptr_t>& free = free_[bytes];
    if (free.empty()) {
      free.push_back(top_ + kHeaderBytes);
      top_ += (bytes + 2 * kPageBytes - 1) / kPageBytes * kPageBytes;
    }
    const std::uintptr_t address = free.back();
    free.pop_back();
    live_[address] = bytes;
    return reinterpret_cast<void*>(address);
  }
  void free(void* block) override {
    if (block == nullptr) {
      return;
    }
    const auto live = live_.find(address_of(block));
    ASSERT_NE(live, live_.end()) << "freed twice, or never allocated";
    free_[live->second].push_back(live->first);
    live_.erase(live);
  }
  void give_back(std::uintptr_t begin, std::size_t bytes) override {
    ASSERT_EQ(begin % kPageBytes, 0U);
    ASSERT_EQ(bytes % kPageBytes, 0U);
    auto live = live_.upper_bound(begin);
    ASSERT_NE(live, live_.begin()) << "of no block";
    --live;
    ASSERT_LE(begin + bytes, live->first + live->second) << "not within one block";
    for (std::uintptr_t page = begin; page < begin + bytes; page += kPageBytes) {
      given_back_pages_ += pages_.erase(page);
    }
  }
  [[nodiscard]] std::uint64_t minor_faults() const override { return faults_; }

  /// All of a block; with another value than 0, which pages hold that nobody wrote.
  void write(void* block, std::size_t bytes, int value) {
    for (std::uintptr_t page = first_page(block); page < address_of(block) + bytes;
         page += kPageBytes) {
      faults_ += pages_.contains(page) ? 0U : 1U;
      pages_[page] = value;
    }
  }
  /// Whether all whole pages of a block hold it.
  [[nodiscard]] bool holds(void* block, std::size_t bytes, int value) const {
    for (std::uintptr_t page = first_page(block) + kPageBytes;
         page + kPageBytes <= address_of(block) + bytes; page += kPageBytes) {
      const auto found = pages_.find(page);
      if ((found == pages_.end() ? 0 : found->second) != value) {
        return false;
      }
    }
    return true;
  }
  /// Faults on memory that is none of the heap's: code, stacks, a neighbour's pressure.
  void fault_elsewhere(std::uint64_t faults) { faults_ += faults; }

  [[nodiscard]] std::uint64_t given_back_pages() const { return given_back_pages_; }
  [[nodiscard]] std::size_t live_blocks() const { return live_.size(); }

 private:
  static std::uintptr_t address_of(void* block) { return reinterpret_cast<std::uintptr_t>(block); }
  static std::uintptr_t first_page(void* block) {
    return address_of(block) - address_of(block) % kPageBytes;
  }

  std::uintptr_t top_ = kPageBytes << 10U;
  std::map<std::size_t, std::vector<std::uintptr_t>> free_;  ///< by bytes
  std::map<std::uintptr_t, std::size_t> live_;               ///< address → bytes
  std::map<std::uintptr_t, int> pages_;                      ///< what resident ones hold
  std::uint64_t faults_ = 0;
  std::uint64_t given_back_pages_ = 0;
};

}  // namespace understudy::replayer::testing
