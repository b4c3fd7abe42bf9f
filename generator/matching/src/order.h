#pragma once

#include <optional>
#include <vector>

#include "generator/matching/matching.h"

namespace understudy::matching {

/// One rank's call in a communication.
struct Side {
  int rank = 0;
  std::uint32_t call = 0;
};

/// The communications of a job. A meeting is one communication: the calls of a collective on all
/// its ranks, or a send and its receive. The sides of all meetings are stored in one list.
class Meetings {
 public:
  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  [[nodiscard]] std::span<const Side> sides(std::size_t meeting) const {
    const std::size_t begin = meeting == 0 ? 0 : ends_[meeting - 1];
    return std::span(sides_).subspan(begin, ends_[meeting] - begin);
  }
  /// Returns the rank that prevents the meeting from completing; null if it completes.
  [[nodiscard]] const int* hindered_by(std::size_t meeting) const {
    return hindered_by_[meeting] < 0 ? nullptr : &hindered_by_[meeting];
  }

  /// Adds a side to the current meeting, which close() ends.
  void add(Side side) { sides_.push_back(side); }
  void close(std::optional<int> hindered_by = std::nullopt) {
    ends_.push_back(sides_.size());
    hindered_by_.push_back(hindered_by.value_or(-1));
  }

 private:
  std::vector<Side> sides_;
  std::vector<std::size_t> ends_;  ///< by meeting: index in `sides_` behind its last side
  std::vector<int> hindered_by_;   ///< rank, by meeting; negative: none
};

/// Adds to `found` an order in which the communications can complete one at a time. This is the
/// programs' own order unless that deadlocks. If the ranks cannot finish, adds the stuck ranks
/// instead and, if there are no other mismatches, the cycle of ranks that wait for each other.
/// `meetings` must hold each call exactly once. Linear in the calls, plus ranks times cycles.
void find_order(const JobComms& comms, const Meetings& meetings, Matching& found);

}  // namespace understudy::matching
