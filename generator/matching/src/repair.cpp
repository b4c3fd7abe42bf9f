#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "et_schema/model/open_comms.h"
#include "generator/matching/matching.h"

namespace understudy::matching {
namespace {

using et_schema::GroupId;
using et_schema::Programs;

/// Interpretations of a recorded peer.
enum class Reading : std::uint8_t {
  kPlace,      ///< the peer's rank in the group, as documented
  kWorldRank,  ///< the peer's rank in the job
  kOther       ///< meaningless; in a group of two the peer is the other rank
};

/// Returns the peer's position in the group; empty if the reading gives none.
std::optional<int> place_of(const CommRecord& call, int rank, const Members& members,
                            Reading reading) {
  const std::int64_t peer = call.root_or_peer;
  switch (reading) {
    case Reading::kPlace:
      return static_cast<int>(peer);
    case Reading::kWorldRank: {
      const auto found = std::ranges::find(members.ranks, peer);
      return found == members.ranks.end()
                 ? std::nullopt
                 : std::optional(static_cast<int>(found - members.ranks.begin()));
    }
    case Reading::kOther:
      break;
  }
  return members.ranks.size() == 2 ? std::optional(members.ranks[0] == rank ? 1 : 0) : std::nullopt;
}

/// Returns a group's messages with peers read by `reading`; empty if one of them has no peer.
std::optional<JobComms> messages_of(const JobComms& all, GroupId group, Reading reading) {
  JobComms messages(all.groups(), all.ranks().size());
  for (std::size_t rank = 0; rank < all.ranks().size(); ++rank) {
    const RankComms& of_rank = all.ranks()[rank];
    for (std::size_t i = 0; i < of_rank.calls.size(); ++i) {
      CommRecord call = *of_rank.calls[i];
      if (call.group != group || !et_schema::is_message(call.kind)) {
        continue;
      }
      const std::optional<int> place =
          place_of(call, static_cast<int>(rank), all.members(group), reading);
      if (!place) {
        return std::nullopt;
      }
      call.root_or_peer = *place;
      call.joined_before.clear();  // only the matching of messages is checked
      call.in_batch = false;
      messages.add(rank, call, of_rank.nodes[i]);
    }
  }
  return messages;
}

/// Returns the first reading with which all messages match.
std::optional<Reading> reading_of(const JobComms& all, GroupId group) {
  for (const Reading reading : {Reading::kPlace, Reading::kWorldRank, Reading::kOther}) {
    const std::optional<JobComms> messages = messages_of(all, group, reading);
    if (messages && match(*messages).mismatches.empty()) {
      return reading;
    }
  }
  return std::nullopt;
}

struct Message {
  std::size_t rank = 0;
  et_schema::Instruction* instruction = nullptr;
};

void repair_peers(Programs& programs, const JobComms& comms) {
  std::set<GroupId> with_messages;
  for (const RankComms& rank : comms.ranks()) {
    for (const CommRecord* call : rank.calls) {
      if (et_schema::is_message(call->kind)) {
        with_messages.insert(call->group);
      }
    }
  }
  for (const GroupId group : with_messages) {
    const std::optional<Reading> reading = reading_of(comms, group);
    for (std::size_t rank = 0; reading && rank < programs.size(); ++rank) {
      et_schema::Program& program = programs.edit(rank);
      std::size_t number = 0;
      for (et_schema::Instruction& issued : program.instructions) {
        if (!et_schema::is_communication(issued)) {
          continue;
        }
        const CommRecord& call = *comms.ranks()[rank].calls[number++];
        if (call.group != group || !et_schema::is_message(call.kind)) {
          continue;
        }
        const int place = *place_of(call, static_cast<int>(rank), comms.members(group), *reading);
        program.losses.add(et_schema::Loss::kRepairedMessages, place == call.root_or_peer ? 0 : 1);
        issued.comm->root_or_peer = place;
      }
    }
  }
}

void repair_batches(Programs& programs, const JobComms& comms) {
  // By group, sending rank and receiving rank: sends and receives.
  std::map<std::tuple<GroupId, int, int>, std::array<std::vector<Message>, 2>> channels;
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    for (et_schema::Instruction& issued : programs.edit(rank).instructions) {
      if (!is_communication(issued) || !et_schema::is_message(issued.comm->kind)) {
        continue;
      }
      const std::vector<int>& members = comms.members(issued.comm->group).ranks;
      const std::int64_t place = issued.comm->root_or_peer;
      if (place < 0 || place >= static_cast<std::int64_t>(members.size())) {
        continue;
      }
      int from = static_cast<int>(rank);
      int to = members[static_cast<std::size_t>(place)];
      const bool is_receive = issued.comm->kind == et_schema::CommKind::kRecv;
      if (is_receive) {
        std::swap(from, to);
      }
      channels[{issued.comm->group, from, to}][is_receive ? 1 : 0].push_back({rank, &issued});
    }
  }
  const auto put_in_batch = [&](const Message& message) {
    et_schema::CommInfo& comm = *message.instruction->comm;
    programs.edit(message.rank)
        .losses.add(et_schema::Loss::kRepairedMessages, comm.in_batch.value_or(false) ? 0 : 1);
    comm.in_batch = true;
  };
  for (const auto& [channel, both] : channels) {
    const auto& [sends, receives] = both;
    for (std::size_t i = 0; i < std::min(sends.size(), receives.size()); ++i) {
      const auto is_in_batch = [](const Message& message) {
        return message.instruction->comm->in_batch.value_or(false);
      };
      if (is_in_batch(sends[i]) != is_in_batch(receives[i])) {
        put_in_batch(sends[i]);
        put_in_batch(receives[i]);
      }
    }
  }
}

bool has_messages(const et_schema::Program& program) {
  return std::ranges::find(program.instructions, et_schema::InstructionKind::kP2p,
                           &et_schema::Instruction::kind) != program.instructions.end();
}

}  // namespace

void repair_messages(Programs& programs, std::span<const et_schema::ProcessGroup> groups) {
  if (std::ranges::none_of(programs, has_messages)) {
    return;
  }
  const JobComms comms(groups, programs);
  if (!match(comms).mismatches.empty()) {
    repair_peers(programs, comms);
    repair_batches(programs, comms);
  }
}

}  // namespace understudy::matching
