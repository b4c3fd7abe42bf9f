#include "generator/link/align.h"

#include <algorithm>
#include <cstddef>

namespace understudy::generator {
namespace {

constexpr std::ptrdiff_t kMostDifferences = 400;

class Aligner {
 public:
  Aligner(std::span<const NameId> a, std::span<const NameId> b)
      : a_(a), b_(b), aligned_(a.size(), kUnaligned) {}

  std::vector<std::uint32_t> align() {
    while (!a_.empty() && !b_.empty()) {
      align_stretch();
    }
    return std::move(aligned_);
  }

 private:
  /// Position that d edits reach by diagonal k = steps in a − steps in b. Row d holds k = -d … d.
  using Row = std::vector<std::ptrdiff_t>;

  /// Returns the farthest position on diagonal k with one edit more than the row before; -1 if
  /// none.
  [[nodiscard]] std::ptrdiff_t reach(const Row& before, std::ptrdiff_t d, std::ptrdiff_t k) const {
    if (d == 0) {
      return 0;
    }
    const std::ptrdiff_t down = k < d - 1 ? before[static_cast<std::size_t>(k + d)] : -1;
    const std::ptrdiff_t right = k > 1 - d ? before[static_cast<std::size_t>(k + d - 2)] : -1;
    const bool can_go_right = right >= 0 && right < std::ssize(a_);
    const bool can_go_down = down >= 0 && down - k <= std::ssize(b_);
    return std::max(can_go_right ? right + 1 : -1, can_go_down ? down : -1);
  }

  [[nodiscard]] std::ptrdiff_t slide(std::ptrdiff_t x, std::ptrdiff_t k) const {
    while (x < std::ssize(a_) && x - k < std::ssize(b_) && a_.data()[x] == b_.data()[x - k]) {
      ++x;
    }
    return x;
  }

  void align_stretch() {
    rows_.clear();
    for (std::ptrdiff_t d = 0; d <= kMostDifferences; ++d) {
      Row row(static_cast<std::size_t>(2 * d + 1), -1);
      std::ptrdiff_t best_k = 0;
      std::ptrdiff_t furthest = -1;
      for (std::ptrdiff_t k = -d; k <= d; k += 2) {
        const std::ptrdiff_t start = reach(d == 0 ? row : rows_.back(), d, k);
        if (start < 0) {
          continue;
        }
        const std::ptrdiff_t x = slide(start, k);
        row[static_cast<std::size_t>(k + d)] = x;
        if (2 * x - k > furthest) {
          furthest = 2 * x - k;
          best_k = k;
        }
      }
      rows_.push_back(std::move(row));
      if (furthest == std::ssize(a_) + std::ssize(b_) || d == kMostDifferences) {
        keep(d, best_k);
        return;
      }
    }
  }

  /// Records the equal elements on the path to diagonal k of row d, and continues from its end.
  void keep(std::ptrdiff_t d, std::ptrdiff_t k) {
    const std::ptrdiff_t end = rows_[static_cast<std::size_t>(d)][static_cast<std::size_t>(k + d)];
    const auto a_end = static_cast<std::size_t>(end);
    const auto b_end = static_cast<std::size_t>(end - k);
    for (; d >= 0; --d) {
      const std::ptrdiff_t x = rows_[static_cast<std::size_t>(d)][static_cast<std::size_t>(k + d)];
      const Row& before = rows_[static_cast<std::size_t>(std::max<std::ptrdiff_t>(d - 1, 0))];
      const std::ptrdiff_t start = reach(before, d, k);
      for (std::ptrdiff_t i = start; i < x; ++i) {
        aligned_[a_from_ + static_cast<std::size_t>(i)] =
            static_cast<std::uint32_t>(b_from_ + static_cast<std::size_t>(i - k));
      }
      if (d > 0) {
        const bool came_right = k > 1 - d && before[static_cast<std::size_t>(k + d - 2)] >= 0 &&
                                before[static_cast<std::size_t>(k + d - 2)] + 1 == start;
        k += came_right ? -1 : 1;
      }
    }
    a_ = a_.subspan(a_end);
    b_ = b_.subspan(b_end);
    a_from_ += a_end;
    b_from_ += b_end;
  }

  std::span<const NameId> a_;  ///< the parts not yet aligned
  std::span<const NameId> b_;
  std::size_t a_from_ = 0;  ///< where a_ begins
  std::size_t b_from_ = 0;
  std::vector<std::uint32_t> aligned_;
  std::vector<Row> rows_;
};

}  // namespace

std::vector<std::uint32_t> align(std::span<const NameId> a, std::span<const NameId> b) {
  return Aligner(a, b).align();
}

}  // namespace understudy::generator
