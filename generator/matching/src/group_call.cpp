#include "group_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "et_schema/base/error.h"
#include "et_schema/model/comm_traits.h"

namespace understudy::matching {
namespace {

using et_schema::CommSizes;

/// One communication of a group: the call of each member, in group order.
class GroupCall {
 public:
  GroupCall(const JobComms& comms, et_schema::GroupId group,
            const std::vector<CallsOfRank>& members, std::size_t position,
            const std::vector<const CommRecord*>& calls)
      : comms_(comms), group_(group), members_(members), position_(position), calls_(calls) {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (i == 0 || calls_[i] != calls_[i - 1]) {
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
  /// Checks the fields that must be equal on all members, against the first member.
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
    if (call.kind == et_schema::CommKind::kAllToAll && call.inputs.size() != first.inputs.size()) {
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
    const CommRecord& call = *calls_[member];
    const auto root = static_cast<std::size_t>(call.root_or_peer);
    switch (traits(call.kind).sizes) {
      case CommSizes::kPairs:
      case CommSizes::kOutputOfAll:
      case CommSizes::kInputOfAll:
        check_equal_inputs(member);
        return;
      case CommSizes::kEqualParts:
        if (call.inputs.size() == 1) {
          check_equal_inputs(member);
        } else {
          check_transposed(member, &CommRecord::inputs, &CommRecord::outputs, "inputs");
        }
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

  /// Checks a member's sizes against its entries in another member's list of one tensor per rank.
  void check_part(std::size_t member, const char* field, const Sizes& got, std::size_t other,
                  const Sizes& of_all) const {
    Sizes expected;
    for (std::size_t i = member; i < of_all.size(); i += calls_.size()) {
      expected.push_back(of_all[i]);
    }
    if (got != expected) {
      fail(member, other, field, text_of(expected), text_of(got));
    }
  }

  void check_equal_inputs(std::size_t member) const {
    const Sizes& expected = calls_.front()->inputs;
    if (calls_[member]->inputs != expected) {
      fail(member, 0, "inputs", text_of(expected), text_of(calls_[member]->inputs));
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
  /// Members, one per run of adjacent members with equal calls.
  std::vector<std::size_t> distinct_;
};

}  // namespace

std::string text_of(const Sizes& sizes) {
  return sizes.size() == 1 ? fmt::format("{} elements", sizes.front())
                           : fmt::format("[{}] elements", fmt::join(sizes, ", "));
}

std::string last_calls(const JobComms& comms, int rank, et_schema::GroupId group,
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

void check_group_call(const JobComms& comms, et_schema::GroupId group,
                      const std::vector<CallsOfRank>& members, std::size_t position,
                      const std::vector<const CommRecord*>& calls) {
  GroupCall(comms, group, members, position, calls).check();
}

}  // namespace understudy::matching
