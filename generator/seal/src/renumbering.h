#pragma once

#include <algorithm>
#include <vector>

namespace understudy::generator {

/// Maps the numbers seen to 1, 2, … in ascending order. 0 means none and stays 0.
template <typename Number>
class Renumbering {
 public:
  void see(Number number) {
    if (number != 0) {
      numbers_.push_back(number);
    }
  }
  void close() {
    std::ranges::sort(numbers_);
    numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
  }
  [[nodiscard]] Number of(Number number) const {
    const auto place = std::ranges::lower_bound(numbers_, number) - numbers_.begin();
    return number == 0 ? 0 : static_cast<Number>(place) + 1;
  }

 private:
  std::vector<Number> numbers_;
};

}  // namespace understudy::generator
