#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>

#include "et_schema/model/comm_traits.h"
#include "et_schema/support/assert.h"
#include "group_call.h"
#include "matching/matching.h"
#include "order.h"

namespace understudy::matching {

using et_schema::CommKind;

namespace {

class Matcher {
 public:
  explicit Matcher(const JobComms& comms) : comms_(comms), collectives_(comms.groups().size()) {}

  [[nodiscard]] Matching match() {
    for (std::size_t rank = 0; rank < comms_.ranks().size(); ++rank) {
      try {
        sort_calls(static_cast<int>(rank));
      } catch (const et_schema::Error& error) {
        found_.mismatches.push_back(error);  // which leaves its calls without a meeting
        return std::move(found_);
      }
    }
    for (et_schema::GroupId group = 0; group < collectives_.size(); ++group) {
      match_collectives(group, collectives_[group]);
    }
    for (const auto& [key, pair] : messages_) {
      match_messages(key.group, pair);
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
  struct Pair {
    CallsOfRank sends;
    CallsOfRank receives;
  };

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
    const auto refuse = [&](std::string field, std::string expected, std::string got) {
      fail(rank, number, std::move(field), std::move(expected), std::move(got));
    };
    if (call.group >= comms_.groups().size()) {
      refuse("group", fmt::format("below {}", comms_.groups().size()),
             fmt::format("{}", call.group));
    }
    const Members& members = comms_.members(call.group);
    const int world_size = static_cast<int>(comms_.ranks().size());
    const auto name = [&] { return fmt::format("group '{}'", comms_.groups()[call.group].name); };
    const auto is_outside = [&](int member) { return member < 0 || member >= world_size; };
    if (members.places[static_cast<std::size_t>(rank)] == Members::kNoPlace) {
      refuse(name(), "a group that this rank is in",
             fmt::format("ranks {}", fmt::join(members.ranks, " ")));
    }
    if (!checked_groups_.contains(call.group) && std::ranges::any_of(members.ranks, is_outside)) {
      refuse(name(), fmt::format("ranks from 0 to {}", world_size - 1),
             fmt::format("ranks {}", fmt::join(members.ranks, " ")));
    }
    checked_groups_.insert(call.group);
  }

  void add_message(int rank, std::uint32_t number, const CommRecord& call) {
    const std::vector<int>& members = comms_.members(call.group).ranks;
    if (call.root_or_peer < 0 || call.root_or_peer >= static_cast<std::int64_t>(members.size())) {
      fail(rank, number, "peer", fmt::format("0 to {}", members.size() - 1),
           fmt::format("{}", call.root_or_peer));
    }
    const int peer = members[static_cast<std::size_t>(call.root_or_peer)];
    const bool is_send = call.kind == CommKind::kSend;
    Pair& pair =
        messages_[is_send ? Channel{call.group, rank, peer} : Channel{call.group, peer, rank}];
    pair.sends.rank = is_send ? rank : peer;
    pair.receives.rank = is_send ? peer : rank;
    (is_send ? pair.sends : pair.receives).calls.push_back(number);
  }

  void match_collectives(et_schema::GroupId group, const std::vector<CallsOfRank>& members) {
    std::size_t length = 0;
    for (const CallsOfRank& of_rank : members) {
      length = std::max(length, of_rank.calls.size());
    }
    std::optional<int> hindered_by;  // from the first mismatch on
    for (std::size_t position = 0; position < length; ++position) {
      std::vector<const CommRecord*> calls;
      for (const CallsOfRank& of_rank : members) {
        if (position < of_rank.calls.size()) {
          meetings_.add({of_rank.rank, of_rank.calls[position]});
          calls.push_back(&record(of_rank, position));
        }
      }
      try {
        if (!hindered_by) {
          check_collective(group, members, position, calls);
        }
      } catch (const et_schema::Error& error) {
        found_.mismatches.push_back(error);
        hindered_by = hinderer(members, position, error);
      }
      meetings_.close(hindered_by);
    }
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

  /// The rank for whose right call the others wait: the one without a call, or with another one.
  [[nodiscard]] static int hinderer(const std::vector<CallsOfRank>& members, std::size_t position,
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

  void match_messages(et_schema::GroupId group, const Pair& pair) {
    const std::size_t sends = pair.sends.calls.size();
    const std::size_t receives = pair.receives.calls.size();
    std::optional<int> hindered_by;  // from the first mismatch on
    for (std::size_t i = 0; i < std::max(sends, receives); ++i) {
      if (i < sends) {
        meetings_.add({pair.sends.rank, pair.sends.calls[i]});
      }
      if (i < receives) {
        meetings_.add({pair.receives.rank, pair.receives.calls[i]});
      }
      if (!hindered_by) {
        try {
          check_message(group, pair, i);
        } catch (const et_schema::Error& error) {
          found_.mismatches.push_back(error);
          hindered_by = i < sends ? pair.receives.rank : pair.sends.rank;
        }
      }
      meetings_.close(hindered_by);
    }
  }

  /// Message `i` between two ranks, of which one may lack it.
  void check_message(et_schema::GroupId group, const Pair& pair, std::size_t i) const {
    const int from = pair.sends.rank;
    const int to = pair.receives.rank;
    const std::vector<std::uint32_t>& sends = pair.sends.calls;
    const std::vector<std::uint32_t>& receives = pair.receives.calls;
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
    const CommRecord& send = record(pair.sends, i);
    const CommRecord& receive = record(pair.receives, i);
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
             fmt::format("{} (over NCCL the two would never meet; generate --repair makes both "
                         "messages of batches)",
                         batch(receive.in_batch)));
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
  std::vector<std::vector<CallsOfRank>> collectives_;  ///< by group and place in it
  std::map<Channel, Pair> messages_;
  std::unordered_set<et_schema::GroupId> checked_groups_;
  /// Calls that fit where all members have the same.
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
  JobComms comms(groups, programs.size());
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    comms.add(rank, programs[rank]);
  }
  Matching found = match(comms);
  if (!found.mismatches.empty()) {
    throw found.mismatches.front();
  }
  return std::move(found.orders);
}

}  // namespace understudy::matching
