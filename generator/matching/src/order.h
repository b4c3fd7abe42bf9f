#pragma once

#include <optional>
#include <vector>

#include "generator/matching/matching.h"

namespace understudy::matching {

/// The call of one rank in a communication.
struct Side {
  int rank = 0;
  std::uint32_t call = 0;
};

/// The calls of different ranks that are one communication: those of a collective on all its ranks,
/// or a send and its receive. All of them stand in one list.
class Meetings {
 public:
  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  [[nodiscard]] std::span<const Side> sides(std::size_t meeting) const {
    const std::size_t begin = meeting == 0 ? 0 : ends_[meeting - 1];
    return std::span(sides_).subspan(begin, ends_[meeting] - begin);
  }
  /// The rank because of which it never completes; null: it does.
  [[nodiscard]] const int* hindered_by(std::size_t meeting) const {
    return hindered_by_[meeting] < 0 ? nullptr : &hindered_by_[meeting];
  }

  /// A side of the meeting that close() completes.
  void add(Side side) { sides_.push_back(side); }
  void close(std::optional<int> hindered_by = std::nullopt) {
    ends_.push_back(sides_.size());
    hindered_by_.push_back(hindered_by.value_or(-1));
  }

 private:
  std::vector<Side> sides_;
  std::vector<std::size_t> ends_;  ///< by meeting, in `sides_`
  std::vector<int> hindered_by_;   ///< by meeting; below 0: by none
};

/// Adds to `found`: an order in which communications can complete one at a time, if each rank takes
/// part in those that it has started. It is the programs' own order unless that leads into a
/// circle. If the ranks cannot get through their calls at all: those that are stuck, and where
/// nobody's calls are missing, the circle. `meetings` hold each call exactly once. The time is
/// linear in the calls, plus ranks times circles.
void find_order(const JobComms& comms, const Meetings& meetings, Matching& found);

}  // namespace understudy::matching
