#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace understudy::replayer {

/// Counts integers of either sign and any size: exactly below 64, and above that to one part in 64.
/// Adding one takes a few nanoseconds and does not allocate.
class LogHistogram {
 public:
  void add(std::int64_t number) {
    ++count_;
    ++(number < 0 ? below_ : above_)[bucket(number)];
  }
  void add(const LogHistogram& other) {
    count_ += other.count_;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      below_[i] += other.below_[i];
      above_[i] += other.above_[i];
    }
  }
  void clear() { *this = LogHistogram(); }
  [[nodiscard]] std::uint64_t count() const { return count_; }

  /// Returns the middle of the bucket of the q-quantile. Returns nothing if there are no numbers.
  [[nodiscard]] std::optional<double> quantile(double q) const {
    std::uint64_t left = rank(q);
    for (std::size_t i = kBuckets; count_ > 0 && i-- > 0;) {
      if (left <= below_[i]) {
        return -middle(i);
      }
      left -= below_[i];
    }
    for (std::size_t i = 0; count_ > 0 && i < kBuckets; ++i) {
      if (left <= above_[i]) {
        return middle(i);
      }
      left -= above_[i];
    }
    return std::nullopt;
  }
  /// Returns the q-quantile of the absolute values.
  [[nodiscard]] std::optional<double> quantile_of_magnitude(double q) const {
    std::uint64_t left = rank(q);
    for (std::size_t i = 0; count_ > 0 && i < kBuckets; ++i) {
      const std::uint64_t here = below_[i] + above_[i];
      if (left <= here) {
        return middle(i);
      }
      left -= here;
    }
    return std::nullopt;
  }

 private:
  static constexpr unsigned kExactBits = 6;
  static constexpr std::uint64_t kExact = std::uint64_t{1} << kExactBits;
  static constexpr std::size_t kBuckets = (64 - kExactBits + 1) * kExact;

  static std::size_t bucket(std::int64_t number) {
    const auto bits = static_cast<std::uint64_t>(number);
    const std::uint64_t magnitude = number < 0 ? ~bits + 1 : bits;
    const auto width = static_cast<unsigned>(std::bit_width(magnitude));
    const unsigned shift = width > kExactBits + 1 ? width - kExactBits - 1 : 0;
    return static_cast<std::size_t>(shift * kExact + (magnitude >> shift));
  }
  static double middle(std::size_t index) {
    const std::uint64_t shift = index < 2 * kExact ? 0 : index / kExact - 1;
    const std::uint64_t mantissa = index - shift * kExact;
    const double width = std::ldexp(1.0, static_cast<int>(shift));
    return static_cast<double>(mantissa) * width + (width - 1) / 2;
  }
  /// Returns the rank of the q-quantile in ascending order, from 1.
  [[nodiscard]] std::uint64_t rank(double q) const {
    const double place = std::ceil(q * static_cast<double>(count_));
    return place < 1 ? 1 : static_cast<std::uint64_t>(place);
  }

  std::uint64_t count_ = 0;
  std::vector<std::uint64_t> below_ = std::vector<std::uint64_t>(kBuckets);
  std::vector<std::uint64_t> above_ = std::vector<std::uint64_t>(kBuckets);
};

}  // namespace understudy::replayer
