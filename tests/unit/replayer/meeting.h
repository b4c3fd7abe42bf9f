#pragma once

#include <barrier>
#include <cstddef>
#include <string>
#include <vector>

namespace understudy::replayer::testing {

/// Lets threads play ranks: their texts meet at a barrier.
class Meeting {
 public:
  explicit Meeting(int ranks) : texts_(static_cast<std::size_t>(ranks)), barrier_(ranks) {}
  std::vector<std::string> exchange(int rank, const std::string& text) {
    texts_[static_cast<std::size_t>(rank)] = text;
    barrier_.arrive_and_wait();
    std::vector<std::string> all = texts_;
    barrier_.arrive_and_wait();
    return all;
  }
  [[nodiscard]] int ranks() const { return static_cast<int>(texts_.size()); }

 private:
  std::vector<std::string> texts_;
  std::barrier<> barrier_;
};

}  // namespace understudy::replayer::testing
