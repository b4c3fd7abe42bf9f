#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>

#include "et_schema/model/comm_traits.h"
#include "et_schema/support/assert.h"
#include "matching/matching.h"
#include "order.h"

namespace understudy::matching {

using et_schema::CommKind;
using et_schema::CommSizes;

namespace {

// A call of plain Gloo, whose group is not recorded, counts as one of the whole job.
constexpr const char* kHint =
    "the traces of all ranks must be of the same step, and say which group a call is of (plain "
    "Gloo's do not: scripts/capture --comms nccl-form)";
constexpr const char* kSummary = "the programs of the ranks do not match";

using Sizes = std::vector<std::int64_t>;

[[nodiscard]] std::string text_of(const Sizes& sizes) {
  return sizes.size() == 1 ? fmt::format("{} elements", sizes.front())
                           : fmt::format("[{}] elements", fmt::join(sizes, ", "));
}

/// "rank 2's calls in group 'tp': 7 allreduce float32 1024 (node 30); 8 …": the last five up to
/// `last`, an index among `calls`, by their number in the group. Messages are counted among
/// themselves.
[[nodiscard]] std::string last_calls(const JobComms& comms, int rank, et_schema::GroupId group,
                                     const std::vector<std::uint32_t>& calls, std::size_t last) {
  constexpr std::size_t kShown = 5;
  const RankComms& of_rank = comms.ranks()[static_cast<std::size_t>(rank)];
  const std::size_t end = std::min(last + 1, calls.size());
  std::string text;
  for (std::size_t i = end - std::min(end, kShown); i < end; ++i) {
    const CommRecord& call = *of_rank.calls[calls[i]];
    const Sizes& sizes = call.inputs.empty() ? call.outputs : call.inputs;
    const bool has_tensors = !sizes.empty();
    text += fmt::format(
        "{}{} {}{}{} (node {})", text.empty() ? "" : "; ", i + 1, et_schema::to_string(call.kind),
        has_tensors ? fmt::format(" {}", et_schema::to_string(call.dtype)) : "",
        has_tensors ? fmt::format(" {}", fmt::join(sizes, ", ")) : "", of_rank.nodes[calls[i]]);
  }
  return fmt::format("\nrank {}'s last calls in group '{}': {}", rank, comms.groups()[group].name,
                     text.empty() ? "none" : text);
}

/// A rank and its calls in a group: those of collectives, or messages of one direction to a peer.
struct CallsOfRank {
  int rank = 0;
  std::vector<std::uint32_t> calls;
};

/// One communication of a group: the call of each member, in group order.
class GroupCall {
 public:
  GroupCall(const JobComms& comms, et_schema::GroupId group,
            const std::vector<CallsOfRank>& members, std::size_t position,
            const std::vector<const CommRecord*>& calls)
      : comms_(comms), group_(group), members_(members), position_(position), calls_(calls) {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const bool is_known = i > 0 && calls_[i] == calls_[i - 1];
      if (!is_known) {
        distinct_.push_back(i);
      }
    }
  }

  void check() const {
    for (const std::size_t member : distinct_) {
      check_alike(member);
    }
    for (std::size_t member = 0; member < calls_.size(); ++member) {
      check_sizes(member);
    }
  }

 private:
  /// Checks the fields that all members must share with the first.
  void check_alike(std::size_t member) const {
    const CommRecord& first = *calls_.front();
    const CommRecord& call = *calls_[member];
    if (call.kind != first.kind) {
      fail(member, 0, "collective", std::string(et_schema::to_string(first.kind)),
           std::string(et_schema::to_string(call.kind)));
    }
    if (call.dtype != first.dtype) {
      fail(member, 0, "dtype", std::string(et_schema::to_string(first.dtype)),
           std::string(et_schema::to_string(call.dtype)));
    }
    if (traits(call.kind).has_root) {
      check_root(member);
    }
    if (traits(call.kind).reduces && call.reduce_op != first.reduce_op) {
      fail(member, 0, "reduce_op", first.reduce_op, call.reduce_op);
    }
    if (call.kind == CommKind::kAllToAll && call.inputs.size() != first.inputs.size()) {
      fail(member, 0, "inputs", fmt::format("{} tensors", first.inputs.size()),
           fmt::format("{}", call.inputs.size()));
    }
  }

  void check_root(std::size_t member) const {
    const std::int64_t root = calls_[member]->root_or_peer;
    if (root < 0 || root >= static_cast<std::int64_t>(calls_.size())) {
      fail(member, member, "root", fmt::format("0 to {}", calls_.size() - 1),
           fmt::format("{}", root));
    }
    if (root != calls_.front()->root_or_peer) {
      fail(member, 0, "root", fmt::format("{}", calls_.front()->root_or_peer),
           fmt::format("{}", root));
    }
  }

  void check_sizes(std::size_t member) const {
    const CommRecord& first = *calls_.front();
    const CommRecord& call = *calls_[member];
    const auto root = static_cast<std::size_t>(call.root_or_peer);
    switch (traits(call.kind).sizes) {
      case CommSizes::kPairs:
      case CommSizes::kOutputOfAll:
      case CommSizes::kInputOfAll:
        check_equal(member, "inputs", call.inputs, 0, first.inputs);
        return;
      case CommSizes::kEqualParts:
        if (call.inputs.size() == 1) {
          check_equal(member, "inputs", call.inputs, 0, first.inputs);
          return;
        }
        check_transposed(member, &CommRecord::inputs, &CommRecord::outputs, "inputs");
        return;
      case CommSizes::kSplits:
        check_transposed(member, &CommRecord::in_splits, &CommRecord::out_splits, "in_splits");
        return;
      case CommSizes::kOutputPerRank:
        for (const std::size_t other : distinct_) {
          check_part(member, "inputs", call.inputs, other, calls_[other]->outputs);
        }
        return;
      case CommSizes::kInputPerRank:
        for (const std::size_t other : distinct_) {
          check_part(member, "outputs", call.outputs, other, calls_[other]->inputs);
        }
        return;
      case CommSizes::kOutputsOfRoot:
        check_part(member, "inputs", call.inputs, root, calls_[root]->outputs);
        return;
      case CommSizes::kInputsOfRoot:
        check_part(member, "outputs", call.outputs, root, calls_[root]->inputs);
        return;
      case CommSizes::kMessage:  // match_messages() compares it with its other side
      case CommSizes::kNone:
      case CommSizes::kNoCommunication:
        return;
    }
  }

  /// Whether a member's sizes are those that another has for it, in lists of one tensor per rank.
  void check_part(std::size_t member, const char* field, const Sizes& got, std::size_t other,
                  const Sizes& of_all) const {
    const std::size_t ranks = calls_.size();
    bool is_equal = of_all.size() > member ? got.size() == (of_all.size() - member - 1) / ranks + 1
                                           : got.empty();
    for (std::size_t i = 0; is_equal && i < got.size(); ++i) {
      is_equal = of_all[member + i * ranks] == got[i];
    }
    if (is_equal) {
      return;
    }
    Sizes expected;
    for (std::size_t i = member; i < of_all.size(); i += ranks) {
      expected.push_back(of_all[i]);
    }
    fail(member, other, field, text_of(expected), text_of(got));
  }

  void check_equal(std::size_t member, const char* field, const Sizes& got, std::size_t other,
                   const Sizes& expected) const {
    if (got != expected) {
      fail(member, other, field, text_of(expected), text_of(got));
    }
  }

  void check_transposed(std::size_t member, Sizes CommRecord::*sent, Sizes CommRecord::*received,
                        const char* field) const {
    const Sizes& sizes = calls_[member]->*sent;
    if (sizes.size() != calls_.size()) {
      fail(member, member, field, fmt::format("{} of them", calls_.size()),
           fmt::format("{}", sizes.size()));
    }
    for (std::size_t other = 0; other < calls_.size(); ++other) {
      const Sizes& theirs = calls_[other]->*received;
      if (member >= theirs.size() || theirs[member] != sizes[other]) {
        fail(member, other, fmt::format("{}[{}]", field, other),
             text_of(member < theirs.size() ? Sizes{theirs[member]} : Sizes{}),
             text_of({sizes[other]}));
      }
    }
  }

  [[noreturn]] void fail(std::size_t member, std::size_t other, const std::string& field,
                         const std::string& expected, std::string got) const {
    et_schema::ErrorContext context;
    context.rank = members_[member].rank;
    context.node = node(member);
    context.field = fmt::format("{} of call {} in group '{}'", field, position_ + 1,
                                comms_.groups()[group_].name);
    context.expected = expected;
    context.got = std::move(got);
    for (const std::size_t shown : {other, member}) {
      context.got +=
          last_calls(comms_, members_[shown].rank, group_, members_[shown].calls, position_);
      if (other == member) {
        break;
      }
    }
    if (other != member) {
      context.expected += fmt::format(", as on rank {} (node {}, {})", members_[other].rank,
                                      node(other), et_schema::to_string(calls_[other]->kind));
    }
    context.hint = kHint;
    throw et_schema::bad_input(kSummary, std::move(context));
  }

  [[nodiscard]] std::uint64_t node(std::size_t member) const {
    const CallsOfRank& of_rank = members_[member];
    return comms_.ranks()[static_cast<std::size_t>(of_rank.rank)].nodes[of_rank.calls[position_]];
  }

  const JobComms& comms_;
  et_schema::GroupId group_;
  const std::vector<CallsOfRank>& members_;
  std::size_t position_;
  const std::vector<const CommRecord*>& calls_;
  /// Members, the first of those beside each other whose calls are equal.
  std::vector<std::size_t> distinct_;
};

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
    GroupCall(comms_, group, members, position, calls).check();
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
    const auto [from, sends] = pair.sends;
    const auto [to, receives] = pair.receives;
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

std::vector<et_schema::CommOrder> match_programs(std::span<const et_schema::Program> programs,
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
