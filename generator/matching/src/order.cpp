#include "order.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"

namespace understudy::matching {

namespace {

/// Simulates the ranks without times. A communication is complete when all its sides have started.
/// A rank starts a call when all calls that must be joined before it are complete. Initially, a
/// rank also starts no call after an incomplete collective, as if collectives blocked. If all ranks
/// are stuck, one rank continues past a collective that its program does not join. If none can, one
/// continues past a send, whose data must then be kept apart.
class Play {
 public:
  Play(const JobComms& comms, const Meetings& meetings)
      : comms_(comms),
        ranks_(comms.ranks()),
        meetings_(meetings),
        next_(ranks_.size(), 0),
        open_collectives_(ranks_.size(), 0) {
    for (const RankComms& rank : ranks_) {
      meeting_of_.emplace_back(rank.calls.size(), 0);
      kept_apart_.emplace_back(rank.calls.size(), false);
    }
    for (std::uint32_t i = 0; i < meetings.size(); ++i) {
      const std::span<const Side> sides = meetings.sides(i);
      const std::uint32_t never = meetings.hindered_by(i) == nullptr ? 0 : 1;
      missing_.push_back(static_cast<std::uint32_t>(sides.size()) + never);
      for (const Side& side : sides) {
        meeting_of_[index(side.rank)][side.call] = i;
      }
    }
  }

  void play(Matching& found) {
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
    find_stuck(found);
    if (found.stuck.empty()) {
      found.orders = orders();
    } else if (found.mismatches.empty()) {
      found.mismatches.push_back(circle(found.stuck));
    }
  }

 private:
  [[nodiscard]] static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  [[nodiscard]] bool is_done(std::size_t rank) const {
    return next_[rank] == ranks_[rank].calls.size();
  }
  [[nodiscard]] bool is_send(std::size_t rank, std::uint32_t call) const {
    return record(rank, call).kind == et_schema::CommKind::kSend;
  }
  [[nodiscard]] const CommRecord& record(std::size_t rank, std::uint32_t call) const {
    return *ranks_[rank].calls[call];
  }

  void start_next(std::size_t rank) {
    const std::uint32_t number = next_[rank]++;
    const std::uint32_t meeting = meeting_of_[rank][number];
    // A meeting that never completes blocks only the calls that wait for it.
    const bool is_collective = !et_schema::is_message(record(rank, number).kind) &&
                               meetings_.hindered_by(meeting) == nullptr;
    open_collectives_[rank] += is_collective ? 1 : 0;
    UNDERSTUDY_ASSERT(missing_[meeting] > 0);
    if (--missing_[meeting] > 0) {
      return;
    }
    completed_.push_back(meeting);
    for (const Side& side : meetings_.sides(meeting)) {
      open_collectives_[index(side.rank)] -= is_collective ? 1 : 0;
      ready_.push_back(index(side.rank));
    }
  }

  /// Starts one call of a rank that is not blocked by its program, preferably a call that completes
  /// a communication.
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

  /// Unblocks a rank that waits only for sends: marks these sends as kept apart.
  [[nodiscard]] bool pass_sends() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (is_done(rank) || blocker(rank)) {
        continue;
      }
      for (const std::uint32_t ago : record(rank, next_[rank]).joined_before) {
        const std::uint32_t send = next_[rank] - ago;
        kept_apart_[rank][send] = kept_apart_[rank][send] || is_open(rank, send);
      }
      ready_.push_back(rank);
      return true;
    }
    return false;
  }

  [[nodiscard]] bool is_blocked(std::size_t rank) const {
    const std::uint32_t next = next_[rank];
    return std::ranges::any_of(record(rank, next).joined_before, [&](std::uint32_t ago) {
      return is_open(rank, next - ago) && !kept_apart_[rank][next - ago];
    });
  }

  [[nodiscard]] bool is_open(std::size_t rank, std::uint32_t call) const {
    return missing_[meeting_of_[rank][call]] > 0;
  }

  /// Returns the call, other than a send, that the rank must wait for before its next one; empty if
  /// there is none.
  [[nodiscard]] std::optional<std::uint32_t> blocker(std::size_t rank) const {
    const std::uint32_t next = next_[rank];
    for (const std::uint32_t ago : record(rank, next).joined_before) {
      if (!is_send(rank, next - ago) && is_open(rank, next - ago)) {
        return next - ago;
      }
    }
    return std::nullopt;
  }

  /// Adds the ranks that did not start all of their calls, or whose calls did not all complete.
  void find_stuck(Matching& found) const {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      std::optional<std::uint32_t> call = is_done(rank) ? std::nullopt : blocker(rank);
      for (std::uint32_t open = 0; is_done(rank) && !call && open < next_[rank]; ++open) {
        call = is_open(rank, open) ? std::optional(open) : std::nullopt;
      }
      if (call) {
        found.stuck.push_back({rank, *call, missing_side(rank, *call)});
      }
    }
  }

  /// Returns for each rank the order in which its communications completed.
  [[nodiscard]] std::vector<et_schema::CommOrder> orders() {
    std::vector<et_schema::CommOrder> orders(ranks_.size());
    std::vector<std::uint32_t> turns(ranks_.size(), 0);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      orders[rank].turns.resize(ranks_[rank].calls.size());
      orders[rank].kept_apart = std::move(kept_apart_[rank]);
    }
    for (const std::uint32_t meeting : completed_) {
      for (const Side& side : meetings_.sides(meeting)) {
        orders[index(side.rank)].turns[side.call] = turns[index(side.rank)]++;
      }
    }
    return orders;
  }

  [[nodiscard]] et_schema::Error circle(const std::vector<StuckRank>& stuck) const {
    const auto of = [&](std::size_t rank) {
      return std::ranges::find(stuck, rank, &StuckRank::rank);
    };
    // Follows from a stuck rank the ranks waited for, until a rank repeats.
    std::vector<std::size_t> path;
    std::size_t rank = stuck.front().rank;
    while (std::ranges::find(path, rank) == path.end()) {
      path.push_back(rank);
      UNDERSTUDY_ASSERT(of(rank) != stuck.end());
      rank = of(rank)->waits_for;
    }
    path.erase(path.begin(), std::ranges::find(path, rank));

    et_schema::ErrorContext context;
    for (const std::size_t waiting : path) {
      const StuckRank& at = *of(waiting);
      const CommRecord& call = record(waiting, at.call);
      const std::string& group = comms_.groups()[call.group].name;
      const std::uint64_t node = ranks_[waiting].nodes[at.call];
      if (context.got.empty()) {
        context.rank = static_cast<int>(waiting);
        context.node = node;
        context.field = fmt::format("order of communications in group '{}'", group);
      }
      context.got += fmt::format("{}rank {} waits in {} (node {}) of group '{}' for rank {}",
                                 context.got.empty() ? "" : "; ", waiting,
                                 et_schema::to_string(call.kind), node, group, at.waits_for);
    }
    context.expected = "calls that the ranks wait for in one order";
    return et_schema::bad_input("ranks would wait for each other in a circle", std::move(context));
  }

  /// Returns a rank that has not started its side of the call in which `rank` waits, or that has a
  /// different call there.
  [[nodiscard]] std::size_t missing_side(std::size_t rank, std::uint32_t call) const {
    const std::uint32_t meeting = meeting_of_[rank][call];
    for (const Side& side : meetings_.sides(meeting)) {
      if (next_[index(side.rank)] <= side.call) {
        return index(side.rank);
      }
    }
    UNDERSTUDY_ASSERT(meetings_.hindered_by(meeting) != nullptr);
    const std::size_t hinderer = index(*meetings_.hindered_by(meeting));
    if (hinderer != rank) {
      return hinderer;
    }
    // `rank` itself has a different call than the others: they wait for each other.
    const std::span<const Side> sides = meetings_.sides(meeting);
    const auto other =
        std::ranges::find_if(sides, [rank](const Side& side) { return index(side.rank) != rank; });
    return other == sides.end() ? rank : index(other->rank);
  }

  const JobComms& comms_;
  const std::vector<RankComms>& ranks_;
  const Meetings& meetings_;
  std::vector<std::uint32_t> next_;                     ///< by rank: the next call to start
  std::vector<std::vector<std::uint32_t>> meeting_of_;  ///< by rank and call
  std::vector<std::uint32_t> missing_;                  ///< by meeting: number of sides not started
  /// By rank: number of collectives started but not complete.
  std::vector<std::size_t> open_collectives_;
  std::vector<std::vector<bool>> kept_apart_;  ///< by rank and call
  std::vector<std::uint32_t> completed_;       ///< meetings in the order of completion
  std::deque<std::size_t> ready_;
};

}  // namespace

void find_order(const JobComms& comms, const Meetings& meetings, Matching& found) {
  Play(comms, meetings).play(found);
}

}  // namespace understudy::matching
