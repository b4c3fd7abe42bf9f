#pragma once

// One rank: nothing is communicated.

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

class Comms {
 public:
  /// `groups`: ranks by process group, none of the whole job's.
  Comms(const std::vector<std::vector<int>>& groups, int ranks, int rank)
      : groups_(groups), recorded_size_(ranks) {
    if (rank >= ranks) {
      problem_ = "--rank " + std::to_string(rank) + ": the benchmark has " + std::to_string(ranks) +
                 " rank" + (ranks == 1 ? "" : "s");
    }
    recorded_rank_ = rank < 0 ? 0 : rank;
    if (ranks > 1 && rank < 0)
      problem_ = "built without MPI: choose one rank with --rank K";
  }
  static Comms*& current() {
    static Comms* comms = nullptr;
    return comms;
  }
  [[nodiscard]] const std::optional<std::string>& problem() const { return problem_; }
  [[nodiscard]] int recorded_rank() const { return recorded_rank_; }
  [[nodiscard]] int rank() const { return 0; }
  [[nodiscard]] int size() const { return 1; }
  /// The rank alone does not communicate.
  [[nodiscard]] bool is_alone() const { return true; }
  /// Its rank in a process group, and that one's size.
  [[nodiscard]] std::pair<int, int> place(std::size_t group) const {
    if (group >= groups_.size() || groups_[group].empty())
      return {recorded_rank_, recorded_size_};
    const std::vector<int>& ranks = groups_[group];
    const auto self = std::find(ranks.begin(), ranks.end(), recorded_rank_);
    return {self == ranks.end() ? 0 : static_cast<int>(self - ranks.begin()),
            static_cast<int>(ranks.size())};
  }
  [[nodiscard]] bool is_first() const { return true; }
  [[nodiscard]] int cores() const {
    return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  }
  void barrier() const {}
  [[nodiscard]] bool any_rank(bool here) const { return here; }
  void max_of_ranks(std::vector<double>&) const {}
  static void abort() {}

 private:
  const std::vector<std::vector<int>>& groups_;
  int recorded_size_ = 1;
  int recorded_rank_ = 0;
  std::optional<std::string> problem_;
};

}  // namespace bench
