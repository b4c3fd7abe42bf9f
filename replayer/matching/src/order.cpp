#include "order.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "et_schema/assert.h"
#include "et_schema/error.h"
#include "members.h"

namespace understudy::matching {

namespace {

/// Plays the ranks against each other without time: a call starts when all that must be joined
/// before it are complete; a communication is complete when all its sides have started. A send is
/// complete at once, as small ones are.
class Play {
 public:
  Play(const std::vector<RankComms>& ranks, const std::vector<Meeting>& meetings,
       const std::vector<et_schema::ProcessGroup>& groups)
      : ranks_(ranks), meetings_(meetings), groups_(groups), next_(ranks.size(), 0) {
    for (const RankComms& rank : ranks) {
      meeting_of_.emplace_back(rank.calls.size(), 0);
    }
    for (std::size_t i = 0; i < meetings.size(); ++i) {
      missing_.push_back(meetings[i].sides.size());
      for (const Meeting::Side& side : meetings[i].sides) {
        meeting_of_[index(side.rank)][side.call] = i;
      }
    }
  }

  void play() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      ready_.push_back(rank);
    }
    while (!ready_.empty()) {
      const std::size_t rank = ready_.front();
      ready_.pop_front();
      advance(rank);
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (next_[rank] < ranks_[rank].calls.size()) {
        fail(rank);
      }
    }
  }

 private:
  [[nodiscard]] static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  void advance(std::size_t rank) {
    const std::vector<CommRecord>& calls = ranks_[rank].calls;
    while (next_[rank] < calls.size() && !blocker(rank)) {
      const std::size_t meeting = meeting_of_[rank][next_[rank]++];
      UNDERSTUDY_ASSERT(missing_[meeting] > 0);
      if (--missing_[meeting] == 0) {
        for (const Meeting::Side& side : meetings_[meeting].sides) {
          ready_.push_back(index(side.rank));
        }
      }
    }
  }

  /// The call that the rank waits in before it can start its next; null if it need not wait.
  [[nodiscard]] const std::uint32_t* blocker(std::size_t rank) const {
    const CommRecord& next = ranks_[rank].calls[next_[rank]];
    const auto found =
        std::find_if(next.joined_before.begin(), next.joined_before.end(), [&](std::uint32_t call) {
          return ranks_[rank].calls[call].kind != et_schema::CommKind::kSend &&
                 missing_[meeting_of_[rank][call]] > 0;
        });
    return found == next.joined_before.end() ? nullptr : &*found;
  }

  [[noreturn]] void fail(std::size_t first) const {
    // From a rank that is stuck to one that it waits for, until a rank comes a second time.
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

  /// A rank that has not started the call that `rank` waits in.
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
  std::vector<std::size_t> missing_;                  ///< by meeting: sides that have not started
  std::deque<std::size_t> ready_;
};

}  // namespace

void check_order(const std::vector<RankComms>& ranks, const std::vector<Meeting>& meetings,
                 const std::vector<et_schema::ProcessGroup>& groups) {
  Play(ranks, meetings, groups).play();
}

}  // namespace understudy::matching
