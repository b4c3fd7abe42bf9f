#include "replayer/heap.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <vector>

namespace understudy::replayer {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20U;
constexpr std::size_t kBlocks = 24;
constexpr std::uint64_t kBytes = kBlocks * kMebibyte;

/// What a step does: takes memory, writes all of it, gives it back.
void iterate() {
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(std::malloc(kMebibyte));
    std::memset(blocks.back(), 1, kMebibyte);
  }
  for (void* const block : blocks) {
    before_free(block, malloc_usable_size(block));
    std::free(block);
  }
}

double faults_of_an_iteration(std::uint64_t wanted) {
  HeapPages::keep_heap();
  HeapPages heap(wanted);
  iterate();
  constexpr int kSettling = 8;
  constexpr int kMeasured = 10;
  double sum = 0;
  for (int i = 0; i < kSettling + kMeasured; ++i) {
    heap.begin();
    const std::uint64_t before = minor_faults();
    iterate();
    sum += i < kSettling ? 0 : static_cast<double>(minor_faults() - before);
    heap.end();
  }
  return sum / kMeasured;
}

class HeapPagesTest : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(HeapPagesTest, AnIterationMeetsAsManyFaultsAsAreWanted) {
  const auto wanted = static_cast<double>(GetParam());
  EXPECT_NEAR(faults_of_an_iteration(GetParam()), wanted, 20 + wanted / 20);
}

INSTANTIATE_TEST_SUITE_P(Faults, HeapPagesTest, ::testing::Values(0, 100, 1000, 3000, 5000));

TEST(HeapPages, NoMoreThanItsMemoryIsGivenBack) {
  EXPECT_LE(faults_of_an_iteration(1'000'000), kBytes / 4096 + 100);
}

}  // namespace
}  // namespace understudy::replayer
