#include "replayer/heap.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

namespace understudy::replayer {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20U;
constexpr std::size_t kBlocks = 24;
constexpr std::uint64_t kPagesOfBlock = kMebibyte / 4096;
constexpr int kThreads = 1;
constexpr std::uint64_t kBytes = kBlocks * kMebibyte;

using OnBlock = std::function<void(std::size_t, void*)>;

void free_block(void* block) {
  if (!takes_over(block, malloc_usable_size(block))) {
    std::free(block);
  }
}

/// What a step does: takes memory, writes all of it, gives it back.
void iterate(const OnBlock& written = [](std::size_t, void*) {}) {
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(allocate_block(kMebibyte));
    std::memset(blocks.back(), 1, kMebibyte);
    written(i, blocks.back());
  }
  for (void* const block : blocks) {
    free_block(block);
  }
}

/// Runs settled iterations; returns the faults of one.
double faults_of_an_iteration(
    HeapPages& heap, const OnBlock& written = [](std::size_t, void*) {}) {
  constexpr int kSettling = 12;
  constexpr int kMeasured = 10;
  double sum = 0;
  for (int i = 0; i < kSettling + kMeasured; ++i) {
    heap.begin();
    const std::uint64_t before = minor_faults();
    i < kSettling ? iterate() : iterate(written);
    sum += i < kSettling ? 0 : static_cast<double>(minor_faults() - before);
    heap.end();
  }
  return sum / kMeasured;
}

/// Of ten settled iterations together, by block; the first one's hold what lies before it as well.
std::vector<std::uint64_t> faults_by_block(HeapPages& heap) {
  std::vector<std::uint64_t> faults(kBlocks);
  std::uint64_t before = minor_faults();
  static_cast<void>(faults_of_an_iteration(heap, [&](std::size_t i, void*) {
    const std::uint64_t now = minor_faults();
    faults[i] += now - before;
    before = now;
  }));
  return faults;
}

double faults_of_an_iteration(std::uint64_t wanted) {
  HeapPages::keep_heap();
  HeapPages heap(wanted, kThreads);
  heap.begin_learning();
  iterate();
  heap.end_learning();
  return faults_of_an_iteration(heap);
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

TEST(HeapPages, TheBlocksThatLayHighestInTheOriginalFault) {
  constexpr std::size_t kHighest = 7;
  constexpr std::size_t kSecond = 20;
  HeapPages::keep_heap();
  HeapPages heap(2 * kPagesOfBlock, kThreads);
  heap.begin_learning();
  iterate([&](std::size_t i, void*) {
    const std::uint64_t address = i == kHighest ? 900 : i == kSecond ? 800 : i;
    et_schema::Timing timing;
    timing.blocks = {{kMebibyte / 2, 1000}, {kMebibyte, address}};
    heap.learn(&timing);
  });
  heap.end_learning();

  const std::vector<std::uint64_t> faults = faults_by_block(heap);

  for (std::size_t i = 1; i < kBlocks; ++i) {
    const bool high = i == kHighest || i == kSecond;
    EXPECT_NEAR(static_cast<double>(faults[i]), high ? 10.0 * kPagesOfBlock : 0, 200) << i;
  }
}

TEST(HeapPages, TheBlocksThatFaultedInTheOriginalComeFirst) {
  constexpr std::size_t kOwn = 3;      // faulted on by the operator that allocates it
  constexpr std::size_t kEarlier = 9;  // by the operator after the one that allocates it
  HeapPages::keep_heap();
  HeapPages heap(2 * kPagesOfBlock, kThreads);
  heap.begin_learning();
  iterate([&](std::size_t i, void*) {
    et_schema::Timing timing;
    timing.blocks = {{kMebibyte, 1000 + i}};
    const bool faults_twice = i == kEarlier + 1;
    timing.page_faults = i == kOwn ? kPagesOfBlock : faults_twice ? 2 * kPagesOfBlock : 5;
    heap.learn(&timing);
  });
  heap.end_learning();
  const std::vector<std::uint64_t> faults = faults_by_block(heap);
  // Three are wanted by operators, pages for two: those that lay higher.
  EXPECT_NEAR(static_cast<double>(faults[kEarlier]), 10.0 * kPagesOfBlock, 200);
  EXPECT_NEAR(static_cast<double>(faults[kEarlier + 1]), 10.0 * kPagesOfBlock, 200);
  EXPECT_NEAR(static_cast<double>(faults[kOwn]), 0, 200);
}

class HeapPagesOfThreads : public testing::TestWithParam<int> {};

/// One of an operator's threads is counted, in one of two steps; blocks that lie higher are seen
/// not to fault.
TEST_P(HeapPagesOfThreads, ABlockIsKnownByTheFaultsOfOneThread) {
  constexpr std::size_t kFaulting = 3;
  const int threads = GetParam();
  HeapPages::keep_heap();
  HeapPages heap(kPagesOfBlock, threads);
  heap.begin_learning();
  iterate([&](std::size_t i, void*) {
    et_schema::Timing timing;
    timing.blocks = {{kMebibyte, 1000 + i}};
    timing.page_faults =
        i == kFaulting ? static_cast<std::int64_t>(kPagesOfBlock) / threads / 2 : 0;
    heap.learn(&timing);
  });
  heap.end_learning();
  const std::vector<std::uint64_t> faults = faults_by_block(heap);
  for (std::size_t i = 1; i < kBlocks; ++i) {
    const double wanted = i == kFaulting ? 10.0 * kPagesOfBlock : 0;
    EXPECT_NEAR(static_cast<double>(faults[i]), wanted, 200) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, HeapPagesOfThreads, testing::Values(1, 2, 8));

TEST(HeapPages, ContentOutlivesTheGivingBackOfOtherBlocks) {
  HeapPages::keep_heap();
  HeapPages heap(kBytes / 4096, kThreads);
  heap.begin_learning();
  iterate();
  heap.end_learning();
  static_cast<void>(faults_of_an_iteration(heap, [](std::size_t, void* block) {
    const auto* const bytes = static_cast<const unsigned char*>(block);
    for (std::size_t at = 0; at < kMebibyte; at += 512) {
      ASSERT_EQ(bytes[at], 1);
    }
  }));
}

TEST(HeapPages, ABlockThatIsFreedBetweenIterationsIsForgotten) {
  HeapPages::keep_heap();
  HeapPages heap(kBytes / 4096, kThreads);
  heap.begin_learning();
  iterate();
  heap.end_learning();
  heap.begin();
  void* const held = allocate_block(kMebibyte);
  heap.end();
  free_block(held);

  auto* const small = static_cast<unsigned char*>(std::malloc(kMebibyte / 2));
  auto* const behind = static_cast<unsigned char*>(std::malloc(kMebibyte));
  std::memset(behind, 1, kMebibyte);
  heap.begin();
  free_block(small);
  for (std::size_t at = 0; at < kMebibyte; at += 512) {
    ASSERT_EQ(behind[at], 1);
  }
  std::free(behind);
}

}  // namespace
}  // namespace understudy::replayer
