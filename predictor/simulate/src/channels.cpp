#include "channels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "et_schema/base/error.h"
#include "time_limit.h"

namespace understudy::predictor {
namespace {

using et_schema::GroupId;

class ChannelFinder {
 public:
  ChannelFinder(const Job& job, const std::vector<RankClass>& classes,
                const std::vector<ProgramPlan>& plans, const Costs& costs,
                std::vector<std::vector<PlayedCost>>& played)
      : job_(job), classes_(classes), plans_(plans), costs_(costs), played_(played) {
    class_of_.resize(job.program_of.size());
    for (std::uint32_t c = 0; c < classes.size(); ++c) {
      for (const int rank : classes[c].ranks) {
        class_of_[static_cast<std::size_t>(rank)] = c;
      }
    }
  }

  Channels find() {
    found_.calls.resize(classes_.size());
    for (std::uint32_t c = 0; c < classes_.size(); ++c) {
      for (std::uint32_t call = 0; call < plan_of(c).instructions.size(); ++call) {
        add(c, call);
      }
    }
    for (std::uint32_t channel = 0; channel < found_.channels.size(); ++channel) {
      measure(channel);
    }
    return std::move(found_);
  }

 private:
  /// Group, sender and receiver (world ranks; unset for collectives), and the class if ranks are
  /// simulated alone.
  using Key = std::tuple<GroupId, int, int, std::uint32_t>;

  /// The calls of a class in a channel, in order.
  struct Side {
    std::uint32_t rank_class = 0;
    std::vector<std::uint32_t> instructions;
  };

  [[nodiscard]] const ProgramPlan& plan_of(std::uint32_t c) const {
    return plans_[classes_[c].program];
  }
  [[nodiscard]] const Instruction& instruction(std::uint32_t c, std::uint32_t at) const {
    return job_.programs[classes_[c].program]->instructions[at];
  }

  void add(std::uint32_t c, std::uint32_t call) {
    const std::uint32_t at = plan_of(c).instructions[call];
    const Instruction& source = instruction(c, at);
    const auto [place, is_new] =
        numbers_.try_emplace(key_of(c, source), static_cast<std::uint32_t>(numbers_.size()));
    if (is_new) {
      found_.channels.push_back({group_of(c, source), {}, {}});
      sides_.emplace_back();
    }
    std::vector<Side>& sides = sides_[place->second];
    if (sides.empty() || sides.back().rank_class != c) {
      sides.push_back({c, {}});
      found_.channels[place->second].members.push_back(c);
    }
    sides.back().instructions.push_back(at);
    const auto number = static_cast<std::uint32_t>(sides.back().instructions.size() - 1);
    found_.calls[c].push_back({place->second, number, is_detached(c, call)});
  }

  [[nodiscard]] bool is_detached(std::uint32_t c, std::uint32_t call) const {
    if (job_.kept_apart.empty()) {
      return false;
    }
    const auto& kept = job_.kept_apart[static_cast<std::size_t>(classes_[c].ranks.front())];
    return call < kept.size() && kept[call];
  }

  [[nodiscard]] Key key_of(std::uint32_t c, const Instruction& source) const {
    const GroupId group = group_of(c, source);
    if (job_.is_partial) {
      return {group, -1, -1, c};
    }
    if (!et_schema::is_message(source.comm->kind)) {
      return {group, -1, -1, 0};
    }
    const int own = classes_[c].ranks.front();
    const int peer = peer_of(own, group, source);
    return source.comm->kind == CommKind::kSend ? Key{group, own, peer, 0}
                                                : Key{group, peer, own, 0};
  }

  [[nodiscard]] GroupId group_of(std::uint32_t c, const Instruction& source) const {
    return own_group(job_.groups_of(classes_[c].ranks.front()), source.comm->group);
  }

  [[nodiscard]] int peer_of(int own, GroupId group, const Instruction& source) const {
    const std::vector<int> members = job_.members_of(group);
    const std::int64_t peer = source.comm->root_or_peer;
    if (peer < 0 || static_cast<std::size_t>(peer) >= members.size()) {
      throw et_schema::bad_input(
          "a send or receive names no rank",
          {.rank = own,
           .node = source.node_id,
           .field = fmt::format("peer in group '{}'", job_.groups[group].name),
           .expected = fmt::format("0 to {}", members.size() - 1),
           .got = fmt::format("{}", peer)});
    }
    return members[static_cast<std::size_t>(peer)];
  }

  void measure(std::uint32_t number) {
    Channel& channel = found_.channels[number];
    const std::vector<Side>& sides = sides_[number];
    const bool is_message = et_schema::is_message(
        instruction(sides[0].rank_class, sides[0].instructions[0]).comm->kind);
    std::vector<int> ranks = job_.members_of(channel.group);
    if (is_message && !job_.is_partial) {
      const int own = classes_[sides[0].rank_class].ranks.front();
      ranks = {own, peer_of(own, channel.group,
                            instruction(sides[0].rank_class, sides[0].instructions[0]))};
    }
    if (!job_.is_partial) {
      check(channel, sides, ranks);
    }
    std::vector<const Side*> side_of_rank;
    std::vector<const Program*> programs;
    for (std::size_t i = 0; i < (job_.is_partial ? 1 : ranks.size()); ++i) {
      side_of_rank.push_back(job_.is_partial ? &sides[0] : side_of(sides, ranks[i]));
      programs.push_back(job_.programs[classes_[side_of_rank.back()->rank_class].program]);
    }
    TimeLimit limit;
    for (std::size_t k = 0; k < sides[0].instructions.size(); ++k) {
      std::vector<const Instruction*> calls;
      for (const Side* side : side_of_rank) {
        calls.push_back(&instruction(side->rank_class, side->instructions[k]));
      }
      const Estimate estimate = costs_.of_communication(
          comm_call(job_, channel.group, ranks, programs, std::move(calls)));
      limit.add(estimate.ns, instruction(sides[0].rank_class, sides[0].instructions[k]).name);
      channel.durations_ns.push_back(std::max<std::int64_t>(std::llround(estimate.ns), 0));
      for (const Side& side : sides) {
        played_[classes_[side.rank_class].program][side.instructions[k]].communication = estimate;
      }
    }
  }

  [[nodiscard]] const Side* side_of(const std::vector<Side>& sides, int rank) const {
    const std::uint32_t c = class_of_[static_cast<std::size_t>(rank)];
    // Sides are ordered by class.
    const auto found = std::ranges::lower_bound(sides, c, {}, &Side::rank_class);
    return found != sides.end() && found->rank_class == c ? &*found : &sides.front();
  }

  /// Checks that all ranks make equally many calls. The matching of a benchmark's ranks
  /// (job_of()) tells more of a mismatch.
  void check(const Channel& channel, const std::vector<Side>& sides,
             const std::vector<int>& ranks) const {
    for (const int rank : ranks) {
      const Side* side = side_of(sides, rank);
      const bool calls = side->rank_class == class_of_[static_cast<std::size_t>(rank)];
      if (!calls || side->instructions.size() != sides[0].instructions.size()) {
        throw et_schema::bad_input(
            "the programs of the ranks do not match",
            {.rank = rank,
             .field = fmt::format("calls in group '{}'", job_.groups[channel.group].name),
             .expected = fmt::format("{}, as on rank {}", sides[0].instructions.size(),
                                     classes_[sides[0].rank_class].ranks.front()),
             .got = fmt::format("{}", calls ? side->instructions.size() : 0)});
      }
    }
  }

  const Job& job_;
  const std::vector<RankClass>& classes_;
  const std::vector<ProgramPlan>& plans_;
  const Costs& costs_;
  std::vector<std::vector<PlayedCost>>& played_;
  std::vector<std::uint32_t> class_of_;  ///< by rank
  std::map<Key, std::uint32_t> numbers_;
  std::vector<std::vector<Side>> sides_;  ///< by channel
  Channels found_;
};

}  // namespace

Channels find_channels(const Job& job, const std::vector<RankClass>& classes,
                       const std::vector<ProgramPlan>& plans, const Costs& costs,
                       std::vector<std::vector<PlayedCost>>& played) {
  return ChannelFinder(job, classes, plans, costs, played).find();
}

}  // namespace understudy::predictor
