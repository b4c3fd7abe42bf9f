// Alignment of sequences of names, against a plain dynamic program.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "generator/link/align.h"

namespace understudy::generator {
namespace {

std::size_t longest_common(const std::vector<NameId>& a, const std::vector<NameId>& b) {
  std::vector<std::vector<std::size_t>> best(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      best[i][j] =
          a[i - 1] == b[j - 1] ? best[i - 1][j - 1] + 1 : std::max(best[i - 1][j], best[i][j - 1]);
    }
  }
  return best[a.size()][b.size()];
}

std::size_t count_aligned(const std::vector<NameId>& a, const std::vector<NameId>& b) {
  const std::vector<std::uint32_t> aligned = align(a, b);
  EXPECT_EQ(aligned.size(), a.size());
  std::size_t count = 0;
  std::int64_t last = -1;
  for (std::size_t i = 0; i < aligned.size(); ++i) {
    if (aligned[i] != kUnaligned) {
      EXPECT_EQ(a[i], b[aligned[i]]);
      EXPECT_GT(static_cast<std::int64_t>(aligned[i]), last) << "positions rise";
      last = aligned[i];
      ++count;
    }
  }
  return count;
}

TEST(LinkAlign, AlignsAsManyAsCanBe) {
  std::mt19937 engine(7);
  for (int round = 0; round < 400; ++round) {
    const auto random_sequence = [&engine] {
      std::vector<NameId> sequence(engine() % 60);
      std::ranges::generate(sequence, [&engine] { return engine() % 5; });
      return sequence;
    };
    const std::vector<NameId> a = random_sequence();
    const std::vector<NameId> b = random_sequence();
    ASSERT_EQ(count_aligned(a, b), longest_common(a, b)) << "round " << round;
  }
}

TEST(LinkAlign, LongSequencesWithFewDifferences) {
  std::mt19937 engine(11);
  std::vector<NameId> a(50000);
  std::ranges::generate(a, [&engine] { return engine() % 100; });
  std::vector<NameId> b = a;
  for (std::size_t i = 200; i < b.size(); i += 997) {
    b.erase(b.begin() + static_cast<std::ptrdiff_t>(i));
    b[i + 100] = 1000;
  }
  const std::size_t differences = (a.size() - 200) / 997 + 1;
  EXPECT_GE(count_aligned(a, b), a.size() - 2 * differences - 5);
}

TEST(LinkAlign, SequencesThatHaveLittleInCommonEndInLinearTime) {
  std::vector<NameId> a(20000);
  std::vector<NameId> b(20000);
  std::mt19937 engine(3);
  std::ranges::generate(a, [&engine] { return engine() % 50; });
  std::ranges::generate(b, [&engine] { return engine() % 50; });
  const std::size_t aligned = count_aligned(a, b);
  EXPECT_GT(aligned, a.size() / 10);
  EXPECT_EQ(count_aligned(a, {}), 0U);
  EXPECT_EQ(count_aligned({}, b), 0U);
}

}  // namespace
}  // namespace understudy::generator
