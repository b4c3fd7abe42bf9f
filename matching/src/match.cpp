#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "et_schema/model/comm_traits.h"
#include "et_schema/support/assert.h"
#include "et_schema/support/error.h"
#include "matching/matching.h"
#include "members.h"
#include "order.h"

namespace understudy::matching {

using et_schema::CommKind;
using et_schema::CommSizes;

namespace {

// A call of plain Gloo, whose group is not recorded, counts as one of the whole job.
constexpr const char* kHint =
    "the traces of all ranks must be of the same step, and say which group a call is of (plain "
    "Gloo's do not: scripts/capture --comms nccl-form)";

using Sizes = std::vector<std::int64_t>;

[[nodiscard]] std::string text_of(const Sizes& sizes) {
  if (sizes.size() == 1) {
    return fmt::format("{} elements", sizes.front());
  }
  std::string text;
  for (const std::int64_t size : sizes) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", size);
  }
  return fmt::format("[{}] elements", text);
}

/// One communication of a group: the call of each member, in group order.
class GroupCall {
 public:
  GroupCall(const et_schema::ProcessGroup& group, const std::vector<int>& members,
            std::size_t position, std::vector<const CommRecord*> calls)
      : group_(group), members_(members), position_(position), calls_(std::move(calls)) {}

  void check() const {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      check_alike(i);
    }
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      check_sizes(i);
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
        for (std::size_t other = 0; other < calls_.size(); ++other) {
          check_equal(member, "inputs", call.inputs, other, parts(*calls_[other], member, true));
        }
        return;
      case CommSizes::kInputPerRank:
        for (std::size_t other = 0; other < calls_.size(); ++other) {
          check_equal(member, "outputs", call.outputs, other, parts(*calls_[other], member, false));
        }
        return;
      case CommSizes::kOutputsOfRoot:
        check_equal(member, "inputs", call.inputs, root, parts(*calls_[root], member, true));
        return;
      case CommSizes::kInputsOfRoot:
        check_equal(member, "outputs", call.outputs, root, parts(*calls_[root], member, false));
        return;
      case CommSizes::kMessage:  // match_messages() compares it with its other side
      case CommSizes::kNone:
      case CommSizes::kNoCommunication:
        return;
    }
  }

  /// The sizes for a member that `call` has in lists of one tensor per rank.
  [[nodiscard]] Sizes parts(const CommRecord& call, std::size_t member, bool outputs) const {
    const Sizes& all = outputs ? call.outputs : call.inputs;
    Sizes result;
    for (std::size_t i = member; i < all.size(); i += calls_.size()) {
      result.push_back(all[i]);
    }
    return result;
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
      const Sizes expected = member < theirs.size() ? Sizes{theirs[member]} : Sizes{};
      check_equal(member, fmt::format("{}[{}]", field, other).c_str(), {sizes[other]}, other,
                  expected);
    }
  }

  [[noreturn]] void fail(std::size_t member, std::size_t other, const std::string& field,
                         const std::string& expected, std::string got) const {
    const CommRecord& call = *calls_[member];
    et_schema::ErrorContext context;
    context.rank = members_[member];
    context.node = call.node;
    context.field = fmt::format("{} of call {} in group '{}'", field, position_ + 1, group_.name);
    context.expected = expected;
    if (other != member) {
      context.expected +=
          fmt::format(", as on rank {} (node {}, {})", members_[other], calls_[other]->node,
                      et_schema::to_string(calls_[other]->kind));
    }
    context.got = std::move(got);
    context.hint = kHint;
    throw et_schema::bad_input("the programs of the ranks do not match", std::move(context));
  }

  const et_schema::ProcessGroup& group_;
  const std::vector<int>& members_;
  std::size_t position_;
  std::vector<const CommRecord*> calls_;
};

class Matcher {
 public:
  Matcher(const std::vector<RankComms>& ranks, const std::vector<et_schema::ProcessGroup>& groups)
      : ranks_(ranks), groups_(groups) {}

  [[nodiscard]] std::vector<et_schema::CommOrder> match() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      UNDERSTUDY_ASSERT(ranks_[r].rank == static_cast<int>(r));
    }
    for (const et_schema::ProcessGroup& group : groups_) {
      members_.push_back(members_of(group, static_cast<int>(ranks_.size())));
    }
    for (const RankComms& rank : ranks_) {
      sort_calls(rank);
    }
    for (const auto& [group, calls] : collectives_) {
      match_collectives(group, calls);
    }
    for (const auto& [key, pair] : messages_) {
      match_messages(key.group, pair);
    }
    return find_order(ranks_, meetings_, groups_);
  }

 private:
  using Calls = std::vector<Meeting::Side>;
  struct Channel {
    et_schema::GroupId group = 0;
    int from = 0;
    int to = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the comparison's 0 for a pointer
    auto operator<=>(const Channel&) const = default;
  };
  struct Pair {
    int from = 0;
    int to = 0;
    Calls sends;
    Calls receives;
  };

  void sort_calls(const RankComms& rank) {
    for (std::size_t i = 0; i < rank.calls.size(); ++i) {
      const CommRecord& call = rank.calls[i];
      const Meeting::Side side{rank.rank, static_cast<std::uint32_t>(i)};
      if (call.group >= groups_.size()) {
        fail(rank.rank, call, "group", fmt::format("below {}", groups_.size()),
             fmt::format("{}", call.group));
      }
      const std::vector<int>& members = members_[call.group];
      const auto self = std::find(members.begin(), members.end(), rank.rank);
      if (self == members.end()) {
        fail(rank.rank, call, fmt::format("group '{}'", groups_[call.group].name),
             "a group that this rank is in", fmt::format("ranks {}", text_of_members(members)));
      }
      if (*std::max_element(members.begin(), members.end()) >= static_cast<int>(ranks_.size())) {
        fail(rank.rank, call, fmt::format("group '{}'", groups_[call.group].name),
             fmt::format("ranks from 0 to {}", ranks_.size() - 1),
             fmt::format("ranks {}", text_of_members(members)));
      }
      if (et_schema::is_message(call.kind)) {
        add_message(side, call, members);
      } else {
        auto [entry, is_new] = collectives_.try_emplace(call.group);
        if (is_new) {
          entry->second.resize(members.size());
        }
        entry->second[static_cast<std::size_t>(self - members.begin())].push_back(side);
      }
    }
  }

  void add_message(const Meeting::Side& side, const CommRecord& call,
                   const std::vector<int>& members) {
    if (call.root_or_peer < 0 || call.root_or_peer >= static_cast<std::int64_t>(members.size())) {
      fail(side.rank, call, "peer", fmt::format("0 to {}", members.size() - 1),
           fmt::format("{}", call.root_or_peer));
    }
    const int peer = members[static_cast<std::size_t>(call.root_or_peer)];
    const bool is_send = call.kind == CommKind::kSend;
    Pair& pair = messages_[is_send ? Channel{call.group, side.rank, peer}
                                   : Channel{call.group, peer, side.rank}];
    pair.from = is_send ? side.rank : peer;
    pair.to = is_send ? peer : side.rank;
    (is_send ? pair.sends : pair.receives).push_back(side);
  }

  void match_collectives(et_schema::GroupId group, const std::vector<Calls>& by_member) {
    std::size_t length = 0;
    for (const Calls& calls : by_member) {
      length = std::max(length, calls.size());
    }
    for (std::size_t position = 0; position < length; ++position) {
      check_present(group, by_member, position);
      Meeting meeting;
      std::vector<const CommRecord*> calls;
      for (const Calls& of_member : by_member) {
        meeting.sides.push_back(of_member[position]);
        calls.push_back(&record(of_member[position]));
      }
      GroupCall(groups_[group], members_[group], position, std::move(calls)).check();
      meetings_.push_back(std::move(meeting));
    }
  }

  void check_present(et_schema::GroupId group, const std::vector<Calls>& by_member,
                     std::size_t position) const {
    const auto has = [&](const Calls& calls) { return position < calls.size(); };
    const auto without = std::find_if_not(by_member.begin(), by_member.end(), has);
    if (without == by_member.end()) {
      return;
    }
    const auto with = std::find_if(by_member.begin(), by_member.end(), has);
    const CommRecord& call = record((*with)[position]);
    const int lacking = members_[group][static_cast<std::size_t>(without - by_member.begin())];
    fail((*with)[position].rank, call,
         fmt::format("call {} in group '{}'", position + 1, groups_[group].name),
         fmt::format("{} on rank {} too", et_schema::to_string(call.kind), lacking),
         fmt::format("only {} calls there", without->size()));
  }

  void match_messages(et_schema::GroupId group, const Pair& pair) {
    const std::size_t both = std::min(pair.sends.size(), pair.receives.size());
    for (std::size_t i = 0; i < both; ++i) {
      const CommRecord& send = record(pair.sends[i]);
      const CommRecord& receive = record(pair.receives[i]);
      const Sizes& received = receive.outputs.empty() ? receive.inputs : receive.outputs;
      const std::string where =
          fmt::format("recv {} from rank {} in group '{}'", i + 1, pair.from, groups_[group].name);
      const auto as_sent = [&](const std::string& what) {
        return fmt::format("{}, as rank {} sends (node {})", what, pair.from, send.node);
      };
      if (received != send.inputs) {
        fail(pair.to, receive, "size of " + where, as_sent(text_of(send.inputs)),
             text_of(received));
      }
      if (receive.dtype != send.dtype) {
        fail(pair.to, receive, "dtype of " + where,
             as_sent(std::string(et_schema::to_string(send.dtype))),
             std::string(et_schema::to_string(receive.dtype)));
      }
      meetings_.push_back({{pair.sends[i], pair.receives[i]}});
    }
    if (pair.sends.size() > both) {
      fail(pair.from, record(pair.sends[both]),
           fmt::format("send {} to rank {} in group '{}'", both + 1, pair.to, groups_[group].name),
           fmt::format("a recv from rank {} on rank {}", pair.from, pair.to),
           fmt::format("only {} there", both));
    }
    if (pair.receives.size() > both) {
      fail(pair.to, record(pair.receives[both]),
           fmt::format("recv {} from rank {} in group '{}'", both + 1, pair.from,
                       groups_[group].name),
           fmt::format("a send to rank {} on rank {}", pair.to, pair.from),
           fmt::format("only {} there", both));
    }
  }

  [[nodiscard]] const CommRecord& record(const Meeting::Side& side) const {
    return ranks_[static_cast<std::size_t>(side.rank)].calls[side.call];
  }

  [[nodiscard]] static std::string text_of_members(const std::vector<int>& members) {
    std::string text;
    for (const int rank : members) {
      text += fmt::format("{}{}", text.empty() ? "" : " ", rank);
    }
    return text;
  }

  [[noreturn]] static void fail(int rank, const CommRecord& call, std::string field,
                                std::string expected, std::string got) {
    throw et_schema::bad_input("the programs of the ranks do not match",
                               {.rank = rank,
                                .node = call.node,
                                .field = std::move(field),
                                .expected = std::move(expected),
                                .got = std::move(got),
                                .hint = kHint});
  }

  const std::vector<RankComms>& ranks_;
  const std::vector<et_schema::ProcessGroup>& groups_;
  std::vector<std::vector<int>> members_;  ///< by group
  std::map<et_schema::GroupId, std::vector<Calls>> collectives_;
  std::map<Channel, Pair> messages_;
  std::vector<Meeting> meetings_;
};

}  // namespace

std::vector<et_schema::CommOrder> match_programs(
    const std::vector<RankComms>& ranks, const std::vector<et_schema::ProcessGroup>& groups) {
  return Matcher(ranks, groups).match();
}

}  // namespace understudy::matching
