#include "order.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "et_schema/support/assert.h"
#include "et_schema/support/error.h"
#include "members.h"

namespace understudy::matching {

namespace {

/// Plays the ranks against each other without time. A communication is complete when all its sides
/// have started. A rank starts a call when all calls that must be joined before it are complete. At
/// first a rank does not start calls after an incomplete collective either, as if that blocked. If
/// all ranks are stuck, one continues as its program does, past the collective that it has started.
/// If none can, one continues past a send, whose data must then be kept apart.
class Play {
 public:
  Play(const std::vector<RankComms>& ranks, const std::vector<Meeting>& meetings,
       const std::vector<et_schema::ProcessGroup>& groups)
      : ranks_(ranks),
        meetings_(meetings),
        groups_(groups),
        next_(ranks.size(), 0),
        open_collectives_(ranks.size(), 0) {
    for (const RankComms& rank : ranks) {
      meeting_of_.emplace_back(rank.calls.size(), 0);
      kept_apart_.emplace_back(rank.calls.size(), false);
    }
    for (std::size_t i = 0; i < meetings.size(); ++i) {
      missing_.push_back(meetings[i].sides.size());
      for (const Meeting::Side& side : meetings[i].sides) {
        meeting_of_[index(side.rank)][side.call] = i;
      }
    }
  }

  [[nodiscard]] std::vector<et_schema::CommOrder> play() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      ready_.push_back(rank);
    }
    do {
      while (!ready_.empty()) {
        const std::size_t rank = ready_.front();
        ready_.pop_front();
        while (!is_done(rank) && open_collectives_[rank] == 0 && !is_blocked(rank)) {
          start_next(rank);
        }
      }
    } while (pass_collective() || pass_sends());
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (!is_done(rank)) {
        fail(rank);
      }
    }
    return orders();
  }

 private:
  [[nodiscard]] static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  [[nodiscard]] bool is_done(std::size_t rank) const {
    return next_[rank] == ranks_[rank].calls.size();
  }
  [[nodiscard]] bool is_send(std::size_t rank, std::uint32_t call) const {
    return ranks_[rank].calls[call].kind == et_schema::CommKind::kSend;
  }

  void start_next(std::size_t rank) {
    const std::size_t number = next_[rank]++;
    const std::size_t meeting = meeting_of_[rank][number];
    const bool is_collective = !et_schema::is_message(ranks_[rank].calls[number].kind);
    open_collectives_[rank] += is_collective ? 1 : 0;
    UNDERSTUDY_ASSERT(missing_[meeting] > 0);
    if (--missing_[meeting] > 0) {
      return;
    }
    completed_.push_back(meeting);
    for (const Meeting::Side& side : meetings_[meeting].sides) {
      open_collectives_[index(side.rank)] -= is_collective ? 1 : 0;
      ready_.push_back(index(side.rank));
    }
  }

  /// Lets a rank that only holds back start one call, if possible one that completes a
  /// communication.
  [[nodiscard]] bool pass_collective() {
    std::optional<std::size_t> chosen;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (is_done(rank) || is_blocked(rank)) {
        continue;
      }
      const bool completes = missing_[meeting_of_[rank][next_[rank]]] == 1;
      if (!chosen || completes) {
        chosen = rank;
      }
      if (completes) {
        break;
      }
    }
    if (chosen) {
      start_next(*chosen);
      ready_.push_back(*chosen);
    }
    return chosen.has_value();
  }

  /// Lets a rank continue that waits only for sends.
  [[nodiscard]] bool pass_sends() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (is_done(rank) || blocker(rank) != nullptr) {
        continue;
      }
      for (const std::uint32_t send : ranks_[rank].calls[next_[rank]].joined_before) {
        if (missing_[meeting_of_[rank][send]] > 0) {
          kept_apart_[rank][send] = true;
        }
      }
      ready_.push_back(rank);
      return true;
    }
    return false;
  }

  [[nodiscard]] bool is_blocked(std::size_t rank) const {
    const std::vector<std::uint32_t>& joined = ranks_[rank].calls[next_[rank]].joined_before;
    return std::any_of(joined.begin(), joined.end(), [&](std::uint32_t call) {
      return missing_[meeting_of_[rank][call]] > 0 && !kept_apart_[rank][call];
    });
  }

  /// The call, other than a send, that the rank must wait for before it can start its next one;
  /// null if there is none.
  [[nodiscard]] const std::uint32_t* blocker(std::size_t rank) const {
    const CommRecord& next = ranks_[rank].calls[next_[rank]];
    const auto found =
        std::find_if(next.joined_before.begin(), next.joined_before.end(), [&](std::uint32_t call) {
          return !is_send(rank, call) && missing_[meeting_of_[rank][call]] > 0;
        });
    return found == next.joined_before.end() ? nullptr : &*found;
  }

  /// The order for each rank: that in which the play completed the communications of the rank.
  [[nodiscard]] std::vector<et_schema::CommOrder> orders() {
    std::vector<et_schema::CommOrder> orders(ranks_.size());
    std::vector<std::uint32_t> turns(ranks_.size(), 0);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      orders[rank].turns.resize(ranks_[rank].calls.size());
      orders[rank].kept_apart = std::move(kept_apart_[rank]);
    }
    for (const std::size_t meeting : completed_) {
      for (const Meeting::Side& side : meetings_[meeting].sides) {
        orders[index(side.rank)].turns[side.call] = turns[index(side.rank)]++;
      }
    }
    return orders;
  }

  [[noreturn]] void fail(std::size_t first) const {
    // The path goes from a stuck rank to one that it waits for, until it meets a rank for the
    // second time.
    std::vector<std::size_t> path;
    std::size_t rank = first;
    while (std::find(path.begin(), path.end(), rank) == path.end()) {
      path.push_back(rank);
      rank = index(missing_side(rank));
    }
    path.erase(path.begin(), std::find(path.begin(), path.end(), rank));

    const CommRecord& stuck_in = call_that_blocks(path.front());
    et_schema::ErrorContext context;
    context.rank = static_cast<int>(path.front());
    context.node = stuck_in.node;
    context.field =
        fmt::format("order of communications in group '{}'", groups_[stuck_in.group].name);
    context.expected = "calls that the ranks wait for in one order";
    for (const std::size_t stuck : path) {
      const CommRecord& call = call_that_blocks(stuck);
      context.got +=
          fmt::format("{}rank {} waits in {} (node {}) of group '{}' for rank {}",
                      context.got.empty() ? "" : "; ", stuck, et_schema::to_string(call.kind),
                      call.node, groups_[call.group].name, missing_side(stuck));
    }
    throw et_schema::bad_input("ranks would wait for each other in a circle", std::move(context));
  }

  [[nodiscard]] const CommRecord& call_that_blocks(std::size_t rank) const {
    const std::uint32_t* call = blocker(rank);
    UNDERSTUDY_ASSERT(call != nullptr);
    return ranks_[rank].calls[*call];
  }

  /// A rank that has not started the call that `rank` waits for.
  [[nodiscard]] int missing_side(std::size_t rank) const {
    const std::uint32_t* call = blocker(rank);
    UNDERSTUDY_ASSERT(call != nullptr);
    const std::vector<Meeting::Side>& sides = meetings_[meeting_of_[rank][*call]].sides;
    const auto missing = std::find_if(sides.begin(), sides.end(), [&](const Meeting::Side& side) {
      return next_[index(side.rank)] <= side.call;
    });
    UNDERSTUDY_ASSERT(missing != sides.end());
    return missing->rank;
  }

  const std::vector<RankComms>& ranks_;
  const std::vector<Meeting>& meetings_;
  const std::vector<et_schema::ProcessGroup>& groups_;
  std::vector<std::size_t> next_;                     ///< by rank: the call to start next
  std::vector<std::vector<std::size_t>> meeting_of_;  ///< by rank and call
  std::vector<std::size_t> missing_;  ///< by meeting: number of sides that have not started
  /// By rank: number of collectives that are started and not complete.
  std::vector<std::size_t> open_collectives_;
  std::vector<std::vector<bool>> kept_apart_;  ///< by rank and call
  std::vector<std::size_t> completed_;         ///< meetings in the order of completion
  std::deque<std::size_t> ready_;
};

}  // namespace

std::vector<et_schema::CommOrder> find_order(const std::vector<RankComms>& ranks,
                                             const std::vector<Meeting>& meetings,
                                             const std::vector<et_schema::ProcessGroup>& groups) {
  return Play(ranks, meetings, groups).play();
}

}  // namespace understudy::matching
