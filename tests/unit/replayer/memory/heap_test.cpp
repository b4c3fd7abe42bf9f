// Which blocks fault, and how many faults there are, on a C library and a kernel that are made up:
// on real ones both are chance. tests/benchmarks/replay/heap_faults.cpp has real ones.
#include "replayer/memory/heap.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "fake_heap_system.h"
#include "heap_blocks.h"

namespace understudy::replayer::testing {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20U;
constexpr std::size_t kBlocks = 24;
/// That lie whole in a block wherever it begins.
constexpr std::uint64_t kPagesOfBlock = kMebibyte / FakeHeapSystem::kPageBytes - 1;
constexpr int kThreads = 1;

using OnBlock = std::function<void(std::size_t, void*)>;

class HeapTest : public ::testing::Test {
 protected:
  void* take(std::size_t bytes = kMebibyte) {
    void* const block = blocks_.allocate(bytes);
    system_.write(block, bytes, 1);
    return block;
  }
  void give(void* block, std::size_t bytes = kMebibyte) {
    if (!blocks_.takes_over(block, bytes)) {
      system_.free(block);
    }
  }
  /// What a step does: takes memory, writes all of it, gives it back.
  void iterate(const OnBlock& written = [](std::size_t, void*) {}) {
    std::vector<void*> held;
    for (std::size_t i = 0; i < kBlocks; ++i) {
      held.push_back(take());
      written(i, held.back());
    }
    for (void* const block : held) {
      give(block);
    }
  }
  /// What an operator did in the original.
  struct Original {
    std::vector<et_schema::HeapBlock> blocks;
    std::optional<std::int64_t> faults = {};
  };
  /// An iteration that learns; `original` says what the i-th block's operator did there.
  void learn(HeapPages& heap, const std::function<Original(std::size_t)>& original) {
    heap.begin_learning();
    iterate([&](std::size_t i, void*) {
      const Original by_operator = original(i);
      heap.learn(by_operator.blocks, by_operator.faults);
    });
    heap.end_learning();
  }
  void learn(HeapPages& heap) {
    heap.begin_learning();
    iterate();
    heap.end_learning();
  }
  /// Faults of one iteration.
  std::uint64_t faults(HeapPages& heap, std::uint64_t elsewhere = 0) {
    const std::uint64_t before = system_.minor_faults();
    heap.begin();
    iterate();
    system_.fault_elsewhere(elsewhere);
    heap.end();
    return system_.minor_faults() - before;
  }
  /// Of one iteration, by block.
  std::vector<std::uint64_t> faults_by_block(HeapPages& heap) {
    std::vector<std::uint64_t> faults(kBlocks);
    heap.begin();
    std::uint64_t before = system_.minor_faults();
    iterate([&](std::size_t i, void*) {
      faults[i] = system_.minor_faults() - before;
      before = system_.minor_faults();
    });
    heap.end();
    return faults;
  }
  /// Full blocks fault, the others do not, in this iteration and in later ones.
  void expect_faults(HeapPages& heap, const std::vector<std::size_t>& full) {
    std::vector<std::uint64_t> wanted(kBlocks);
    for (const std::size_t i : full) {
      wanted[i] = kPagesOfBlock;
    }
    for (int iteration = 0; iteration < 3; ++iteration) {
      EXPECT_EQ(faults_by_block(heap), wanted) << "iteration " << iteration;
    }
  }

  FakeHeapSystem system_;
  HeapBlocks blocks_{system_};
};

class HeapPagesTest : public HeapTest, public ::testing::WithParamInterface<std::uint64_t> {};

TEST_P(HeapPagesTest, AnIterationMeetsAsManyFaultsAsAreWanted) {
  HeapPages heap(GetParam(), kThreads, blocks_);
  learn(heap);
  for (int iteration = 0; iteration < 20; ++iteration) {
    EXPECT_EQ(faults(heap), GetParam()) << "iteration " << iteration;
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, HeapPagesTest, ::testing::Values(0, 100, 1000, 3000, 5000));

using HeapPagesOfBlocks = HeapTest;

TEST_F(HeapPagesOfBlocks, NoMoreThanItsMemoryIsGivenBack) {
  HeapPages heap(1'000'000, kThreads, blocks_);
  learn(heap);
  EXPECT_EQ(faults(heap), kBlocks * kPagesOfBlock);
  EXPECT_EQ(faults(heap), kBlocks * kPagesOfBlock);
}

TEST_F(HeapPagesOfBlocks, HalfOfWhatIsTooMuchOrTooLittleIsCorrectedEachTime) {
  HeapPages heap(1000, kThreads, blocks_);
  learn(heap);
  constexpr std::uint64_t kElsewhere = 400;
  // Planned are 1000, 800, 600, 500, 500, 550, 575: more at once, fewer an iteration later, since
  // pages go when blocks are freed.
  for (const std::uint64_t seen : {1400U, 1400U, 1200U, 1000U, 900U, 950U, 975U}) {
    EXPECT_EQ(faults(heap, kElsewhere), seen);
  }
  // 587.5 are planned now; nothing faults elsewhere any more.
  for (const std::uint64_t seen : {587U, 794U, 897U, 948U}) {
    EXPECT_EQ(faults(heap), seen);
  }
}

TEST_F(HeapPagesOfBlocks, MoreFaultsElsewhereThanAreWantedLeaveNoneForTheHeap) {
  HeapPages heap(100, kThreads, blocks_);
  learn(heap);
  for (const std::uint64_t seen : {600U, 600U, 500U, 500U}) {
    EXPECT_EQ(faults(heap, 500), seen);
  }
}

TEST_F(HeapPagesOfBlocks, TheBlocksThatLayHighestInTheOriginalFault) {
  constexpr std::size_t kHighest = 7;
  constexpr std::size_t kSecond = 20;
  HeapPages heap(2 * kPagesOfBlock, kThreads, blocks_);
  learn(heap, [](std::size_t i) {
    const std::uint64_t address = i == kHighest ? 900 : i == kSecond ? 800 : i;
    return Original{{{kMebibyte / 2, 1000}, {kMebibyte, address}}};
  });
  expect_faults(heap, {kHighest, kSecond});
}

TEST_F(HeapPagesOfBlocks, TheBlocksThatFaultedInTheOriginalComeFirst) {
  constexpr std::size_t kOwn = 3;      // faulted on by the operator that allocates it
  constexpr std::size_t kEarlier = 9;  // by the operator after the one that allocates it
  HeapPages heap(2 * kPagesOfBlock, kThreads, blocks_);
  learn(heap, [](std::size_t i) {
    const bool faults_twice = i == kEarlier + 1;
    return Original{{{kMebibyte, 1000 + i}},
                    i == kOwn      ? kPagesOfBlock
                    : faults_twice ? 2 * kPagesOfBlock
                                   : 5};
  });
  // Three are wanted by operators, pages for two: those that lay higher.
  expect_faults(heap, {kEarlier, kEarlier + 1});
}

TEST_F(HeapPagesOfBlocks, OfTheLastBlockItsLastPagesFault) {
  HeapPages heap(kPagesOfBlock + 10, kThreads, blocks_);
  learn(heap, [](std::size_t i) { return Original{{{kMebibyte, i}}}; });
  std::vector<std::uint64_t> wanted(kBlocks);
  wanted[kBlocks - 1] = kPagesOfBlock;
  wanted[kBlocks - 2] = 10;
  EXPECT_EQ(faults_by_block(heap), wanted);
}

/// One of an operator's threads is counted, in one of two steps; blocks that lie higher are seen
/// not to fault.
class HeapPagesOfThreads : public HeapTest, public ::testing::WithParamInterface<int> {};

TEST_P(HeapPagesOfThreads, ABlockIsKnownByTheFaultsOfOneThread) {
  constexpr std::size_t kFaulting = 3;
  const int threads = GetParam();
  HeapPages heap(kPagesOfBlock, threads, blocks_);
  learn(heap, [threads](std::size_t i) {
    const auto all = static_cast<std::int64_t>(kPagesOfBlock);
    return Original{{{kMebibyte, 1000 + i}}, i == kFaulting ? all / threads / 2 : 0};
  });
  expect_faults(heap, {kFaulting});
}

INSTANTIATE_TEST_SUITE_P(Threads, HeapPagesOfThreads, ::testing::Values(1, 2, 8));

TEST_F(HeapPagesOfBlocks, PagesAreGivenBackOnceAllThatLayHigherIsFree) {
  HeapPages heap(1'000'000, kThreads, blocks_);
  learn(heap, [](std::size_t i) { return Original{{{kMebibyte, i}}}; });
  heap.begin();
  void* const low = take();
  void* const high = take();
  const std::uint64_t before = system_.given_back_pages();
  give(low);
  EXPECT_EQ(system_.given_back_pages(), before) << "the one above is in use";
  EXPECT_TRUE(system_.holds(low, kMebibyte, 1));
  give(high);
  EXPECT_EQ(system_.given_back_pages(), before + 2 * kPagesOfBlock);
  heap.end();
}

TEST_F(HeapPagesOfBlocks, WhatWaitsForABlockThatIsNeverFreeGoesAnIterationLater) {
  HeapPages heap(1'000'000, kThreads, blocks_);
  learn(heap, [](std::size_t i) { return Original{{{kMebibyte, i}}}; });
  heap.begin();
  void* const low = take();
  void* const kept = take();
  give(low);
  heap.end();
  EXPECT_TRUE(system_.holds(low, kMebibyte, 1));
  heap.begin();
  heap.end();
  EXPECT_TRUE(system_.holds(low, kMebibyte, 0));
  EXPECT_TRUE(system_.holds(kept, kMebibyte, 1));
  give(kept);
}

TEST_F(HeapPagesOfBlocks, ContentOutlivesTheGivingBackOfOtherBlocks) {
  HeapPages heap(kBlocks * kPagesOfBlock, kThreads, blocks_);
  learn(heap);
  void* const bystander = system_.allocate(kMebibyte);
  system_.write(bystander, kMebibyte, 7);
  for (int iteration = 0; iteration < 3; ++iteration) {
    std::vector<void*> held;
    heap.begin();
    iterate([&](std::size_t, void* block) {
      held.push_back(block);
      for (void* const each : held) {
        ASSERT_TRUE(system_.holds(each, kMebibyte, 1));
      }
    });
    heap.end();
  }
  EXPECT_TRUE(system_.holds(bystander, kMebibyte, 7));
}

TEST_F(HeapPagesOfBlocks, BlocksOfNoHeapAreTheCLibrarysOwn) {
  constexpr std::size_t kSmall = et_schema::kLeastHeapBlockBytes - 1;
  HeapPages heap(1'000'000, kThreads, blocks_);
  const auto step = [this] {
    for (const std::size_t bytes : {kSmall, kMostMappedThreshold}) {
      void* const block = take(bytes);
      EXPECT_FALSE(blocks_.takes_over(block, bytes));
      system_.free(block);
    }
  };
  heap.begin_learning();
  step();
  heap.end_learning();
  heap.begin();
  step();
  heap.end();
  EXPECT_EQ(system_.given_back_pages(), 0U);
}

TEST_F(HeapPagesOfBlocks, NoBlockIsKeptAfterwards) {
  {
    HeapPages heap(1000, kThreads, blocks_);
    learn(heap);
    static_cast<void>(faults(heap));
    EXPECT_EQ(system_.live_blocks(), 4U) << "those that 1,000 pages are given back of";
  }
  EXPECT_EQ(system_.live_blocks(), 0U);
}

TEST_F(HeapPagesOfBlocks, ABlockThatIsFreedBetweenIterationsIsForgotten) {
  HeapPages heap(kBlocks * kPagesOfBlock, kThreads, blocks_);
  learn(heap);
  heap.begin();
  void* const held = take();
  heap.end();
  give(held);
  void* const small = system_.allocate(kMebibyte / 2);
  void* const behind = system_.allocate(kMebibyte);
  system_.write(behind, kMebibyte, 7);
  heap.begin();
  give(small, kMebibyte / 2);
  EXPECT_TRUE(system_.holds(behind, kMebibyte, 7));
  heap.end();
  system_.free(behind);
}

/// What holds of any C library and any kernel: a block is its owner's alone.
TEST(HeapPagesOfTheProcess, BlocksHoldWhatTheirThreadsWrote) {
  HeapPages::keep_heap();
  HeapPages heap(2000, kThreads);
  const auto step = [](unsigned char value, std::size_t bytes) {
    std::vector<unsigned char*> held;
    for (int i = 0; i < 8; ++i) {
      held.push_back(static_cast<unsigned char*>(allocate_block(bytes)));
      std::memset(held.back(), value, bytes);
    }
    for (unsigned char* const block : held) {
      for (std::size_t at = 0; at < bytes; at += 512) {
        ASSERT_EQ(block[at], value);
      }
      if (!takes_over(block, malloc_usable_size(block))) {
        std::free(block);
      }
    }
  };
  const auto on_threads = [&step] {
    std::vector<std::thread> threads;
    for (unsigned char thread = 1; thread <= 3; ++thread) {
      threads.emplace_back(step, thread, kMebibyte - thread * 4096U);
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  };
  heap.begin_learning();
  on_threads();
  heap.end_learning();
  for (int iteration = 0; iteration < 10; ++iteration) {
    heap.begin();
    on_threads();
    heap.end();
  }
}

/// madvise(2): "zero-fill-on-demand pages".
TEST(HeapPagesOfTheProcess, PagesThatWereGivenBackHoldZeros) {
  HeapSystem& system = HeapBlocks::of_process().system();
  const std::size_t page = system.page_bytes();
  EXPECT_EQ(page, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  auto* const block = static_cast<unsigned char*>(system.allocate(4 * page));
  std::memset(block, 1, 4 * page);
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  const std::size_t first = page - address % page;
  system.give_back(address + first, page);
  EXPECT_EQ(block[first - 1], 1);
  EXPECT_EQ(block[first], 0);
  EXPECT_EQ(block[first + page - 1], 0);
  EXPECT_EQ(block[first + page], 1);
  system.free(block);
}

}  // namespace
}  // namespace understudy::replayer::testing
