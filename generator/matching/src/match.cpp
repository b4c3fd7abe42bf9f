#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <unordered_set>

#include "generator/matching/matching.h"
#include "group_call.h"
#include "order.h"

namespace understudy::matching {

namespace {

class Matcher {
 public:
  explicit Matcher(const JobComms& comms) : comms_(comms), collectives_(comms.groups().size()) {}

  [[nodiscard]] Matching match() {
    for (std::size_t rank = 0; rank < comms_.ranks().size(); ++rank) {
      try {
        sort_calls(static_cast<int>(rank));
      } catch (const et_schema::Error& error) {
        found_.mismatches.push_back(error);  // the rank's calls then have no meeting
        return std::move(found_);
      }
    }
    for (et_schema::GroupId group = 0; group < collectives_.size(); ++group) {
      match_collectives(group, collectives_[group]);
    }
    for (const auto& [key, pair] : messages_) {
      match_calls(pair, [&, group = key.group, &both = pair](std::size_t i) {
        check_message(group, both[0], both[1], i);
      });
    }
    find_order(comms_, meetings_, found_);
    return std::move(found_);
  }

 private:
  struct Channel {
    et_schema::GroupId group = 0;
    int from = 0;
    int to = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the comparison's 0 for a pointer
    auto operator<=>(const Channel&) const = default;
  };
  using Pair = std::array<CallsOfRank, 2>;  ///< sends, receives

  void sort_calls(int rank) {
    const RankComms& of_rank = comms_.ranks()[static_cast<std::size_t>(rank)];
    for (std::uint32_t i = 0; i < of_rank.calls.size(); ++i) {
      const CommRecord& call = *of_rank.calls[i];
      check_group(rank, i, call);
      if (et_schema::is_message(call.kind)) {
        add_message(rank, i, call);
        continue;
      }
      const Members& members = comms_.members(call.group);
      std::vector<CallsOfRank>& by_member = collectives_[call.group];
      if (by_member.empty()) {
        for (const int member : members.ranks) {
          by_member.push_back({member, {}});
        }
      }
      by_member[static_cast<std::size_t>(members.places[static_cast<std::size_t>(rank)])]
          .calls.push_back(i);
    }
  }

  void check_group(int rank, std::uint32_t number, const CommRecord& call) {
    if (call.group >= comms_.groups().size()) {
      fail(rank, number, "group", fmt::format("below {}", comms_.groups().size()),
           fmt::format("{}", call.group));
    }
    const Members& members = comms_.members(call.group);
    const int world_size = static_cast<int>(comms_.ranks().size());
    const auto refuse_ranks = [&](std::string expected) {
      fail(rank, number, fmt::format("group '{}'", comms_.groups()[call.group].name),
           std::move(expected), fmt::format("ranks {}", fmt::join(members.ranks, " ")));
    };
    if (members.places[static_cast<std::size_t>(rank)] == Members::kNoPlace) {
      refuse_ranks("a group that this rank is in");
    }
    const auto is_outside = [&](int member) { return member < 0 || member >= world_size; };
    if (checked_groups_.insert(call.group).second &&
        std::ranges::any_of(members.ranks, is_outside)) {
      refuse_ranks(fmt::format("ranks from 0 to {}", world_size - 1));
    }
  }

  void add_message(int rank, std::uint32_t number, const CommRecord& call) {
    const std::vector<int>& members = comms_.members(call.group).ranks;
    if (call.root_or_peer < 0 || call.root_or_peer >= static_cast<std::int64_t>(members.size())) {
      fail(rank, number, "peer", fmt::format("0 to {}", members.size() - 1),
           fmt::format("{}", call.root_or_peer));
    }
    const int peer = members[static_cast<std::size_t>(call.root_or_peer)];
    const bool is_send = call.kind == et_schema::CommKind::kSend;
    Pair& pair =
        messages_[is_send ? Channel{call.group, rank, peer} : Channel{call.group, peer, rank}];
    pair[0].rank = is_send ? rank : peer;
    pair[1].rank = is_send ? peer : rank;
    pair[is_send ? 0 : 1].calls.push_back(number);
  }

  /// Matches calls by position: those of a group, or of two ranks that exchange messages.
  template <typename Check>
  void match_calls(std::span<const CallsOfRank> members, const Check& check) {
    std::size_t length = 0;
    for (const CallsOfRank& of_rank : members) {
      length = std::max(length, of_rank.calls.size());
    }
    std::optional<int> hindered_by;  // set from the first mismatch on
    for (std::size_t position = 0; position < length; ++position) {
      for (const CallsOfRank& of_rank : members) {
        if (position < of_rank.calls.size()) {
          meetings_.add({of_rank.rank, of_rank.calls[position]});
        }
      }
      try {
        if (!hindered_by) {
          check(position);
        }
      } catch (const et_schema::Error& error) {
        found_.mismatches.push_back(error);
        hindered_by = hinderer(members, position, error);
      }
      meetings_.close(hindered_by);
    }
  }

  void match_collectives(et_schema::GroupId group, const std::vector<CallsOfRank>& members) {
    match_calls(members, [&](std::size_t position) {
      std::vector<const CommRecord*> calls;
      for (const CallsOfRank& of_rank : members) {
        if (position < of_rank.calls.size()) {
          calls.push_back(&record(of_rank, position));
        }
      }
      check_collective(group, members, position, calls);
    });
  }

  void check_collective(et_schema::GroupId group, const std::vector<CallsOfRank>& members,
                        std::size_t position, const std::vector<const CommRecord*>& calls) {
    const auto is_first = [&](const CommRecord* call) { return call == calls.front(); };
    const bool are_one = calls.size() == members.size() && std::ranges::all_of(calls, is_first);
    if (are_one && fitting_.contains(calls.front())) {
      return;
    }
    check_present(group, members, position);
    check_group_call(comms_, group, members, position, calls);
    if (are_one) {
      fitting_.insert(calls.front());
    }
  }

  /// Returns the rank that the others wait for: the one without a call, or with a different one.
  [[nodiscard]] static int hinderer(std::span<const CallsOfRank> members, std::size_t position,
                                    const et_schema::Error& error) {
    const auto lacking = std::ranges::find_if(
        members, [&](const CallsOfRank& of_rank) { return position >= of_rank.calls.size(); });
    return lacking != members.end() ? lacking->rank : *error.context().rank;
  }

  void check_present(et_schema::GroupId group, const std::vector<CallsOfRank>& members,
                     std::size_t position) const {
    const auto has = [&](const CallsOfRank& of_rank) { return position < of_rank.calls.size(); };
    const auto without = std::find_if_not(members.begin(), members.end(), has);
    if (without == members.end()) {
      return;
    }
    const auto with = std::find_if(members.begin(), members.end(), has);
    fail(with->rank, with->calls[position],
         fmt::format("call {} in group '{}'", position + 1, comms_.groups()[group].name),
         fmt::format("{} on rank {} too", et_schema::to_string(record(*with, position).kind),
                     without->rank),
         fmt::format("only {} calls there", without->calls.size()) +
             last_calls(comms_, without->rank, group, without->calls, position) +
             last_calls(comms_, with->rank, group, with->calls, position));
  }

  /// Checks message `i` between two ranks. Fails if either rank lacks it.
  void check_message(et_schema::GroupId group, const CallsOfRank& sender,
                     const CallsOfRank& receiver, std::size_t i) const {
    const int from = sender.rank;
    const int to = receiver.rank;
    const std::vector<std::uint32_t>& sends = sender.calls;
    const std::vector<std::uint32_t>& receives = receiver.calls;
    const std::string& name = comms_.groups()[group].name;
    const auto last_of_both = [&] {
      return last_calls(comms_, from, group, sends, i) + last_calls(comms_, to, group, receives, i);
    };
    if (i >= receives.size()) {
      fail(from, sends[i], fmt::format("send {} to rank {} in group '{}'", i + 1, to, name),
           fmt::format("a recv from rank {} on rank {}", from, to),
           fmt::format("only {} there", receives.size()) + last_of_both());
    }
    const auto where = [&] {
      return fmt::format("recv {} from rank {} in group '{}'", i + 1, from, name);
    };
    if (i >= sends.size()) {
      fail(to, receives[i], where(), fmt::format("a send to rank {} on rank {}", to, from),
           fmt::format("only {} there", sends.size()) + last_of_both());
    }
    const CommRecord& send = record(sender, i);
    const CommRecord& receive = record(receiver, i);
    const Sizes& received = receive.outputs.empty() ? receive.inputs : receive.outputs;
    const auto refuse = [&](const char* what, const std::string& expected, std::string got) {
      fail(to, receives[i], what + where(),
           fmt::format("{}, as rank {} sends (node {})", expected, from,
                       comms_.ranks()[static_cast<std::size_t>(from)].nodes[sends[i]]),
           got + last_of_both());
    };
    if (received != send.inputs) {
      refuse("size of ", text_of(send.inputs), text_of(received));
    }
    if (receive.dtype != send.dtype) {
      refuse("dtype of ", std::string(et_schema::to_string(send.dtype)),
             std::string(et_schema::to_string(receive.dtype)));
    }
    if (receive.in_batch != send.in_batch) {
      const auto batch = [](bool is) { return is ? "in a batch" : "alone"; };
      refuse("batch of ", batch(send.in_batch),
             fmt::format("{} (over NCCL the two would never meet)", batch(receive.in_batch)));
    }
  }

  [[nodiscard]] const CommRecord& record(const CallsOfRank& of_rank, std::size_t position) const {
    return *comms_.ranks()[static_cast<std::size_t>(of_rank.rank)].calls[of_rank.calls[position]];
  }

  [[noreturn]] void fail(int rank, std::uint32_t number, std::string field, std::string expected,
                         std::string got) const {
    throw et_schema::bad_input(
        kSummary, {.rank = rank,
                   .node = comms_.ranks()[static_cast<std::size_t>(rank)].nodes[number],
                   .field = std::move(field),
                   .expected = std::move(expected),
                   .got = std::move(got),
                   .hint = kHint});
  }

  const JobComms& comms_;
  std::vector<std::vector<CallsOfRank>> collectives_;  ///< by group and position in it
  std::map<Channel, Pair> messages_;
  std::unordered_set<et_schema::GroupId> checked_groups_;
  /// Records known to match if all members of a group have the same one.
  std::unordered_set<const CommRecord*> fitting_;
  Meetings meetings_;
  Matching found_;
};

}  // namespace

Matching match(const JobComms& comms) {
  return Matcher(comms).match();
}

std::vector<et_schema::CommOrder> match_programs(const et_schema::Programs& programs,
                                                 std::span<const et_schema::ProcessGroup> groups) {
  Matching found = match(JobComms(groups, programs));
  if (!found.mismatches.empty()) {
    throw found.mismatches.front();
  }
  return std::move(found.orders);
}

}  // namespace understudy::matching
