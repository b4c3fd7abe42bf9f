#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "match_samples.h"
#include "testing/made_program.h"

namespace understudy::matching {
namespace {

using et_schema::CommKind;
using et_schema::Program;
using et_schema::Programs;

struct Message {
  CommKind kind;
  et_schema::GroupId group;
  std::int64_t peer;
};

/// Four ranks with these messages of four elements.
Programs programs_of(const std::vector<std::vector<Message>>& messages) {
  std::vector<Program> programs(messages.size());
  for (std::size_t rank = 0; rank < messages.size(); ++rank) {
    Program& program = programs[rank];
    for (const Message& message : messages[rank]) {
      const et_schema::SlotId slot = testing_programs::add_tensor(program, {4});
      et_schema::Instruction& call = program.instructions.emplace_back();
      call.kind = et_schema::InstructionKind::kP2p;
      call.args = {testing_programs::list_of({slot}), testing_programs::list_of({slot})};
      call.comm.emplace();
      call.comm->kind = message.kind;
      call.comm->group = message.group;
      call.comm->root_or_peer = message.peer;
    }
  }
  return programs;
}

/// Peers after the repair, rank after rank, and losses.
std::vector<std::int64_t> repaired(Programs& programs) {
  repair_messages(programs, sample_groups());
  std::vector<std::int64_t> peers;
  for (const Program& program : programs) {
    for (const et_schema::Instruction& instruction : program.instructions) {
      peers.push_back(instruction.comm->root_or_peer);
    }
  }
  return peers;
}

std::uint64_t losses_of(const Programs& programs) {
  std::uint64_t sum = 0;
  for (const Program& program : programs) {
    sum += program.losses[et_schema::Loss::kRepairedMessages];
  }
  return sum;
}

using Peers = std::vector<std::int64_t>;

TEST(Repair, LeavesWhatMeetsAsItIs) {
  Programs programs = programs_of(
      {{}, {}, {{CommKind::kSend, 2, 1}}, {{CommKind::kRecv, 2, 0}, {CommKind::kSend, 0, 3}}});
  const Programs before = programs;
  static_cast<void>(repaired(programs));  // and what meets in no way, a send to itself
  EXPECT_EQ(programs, before);
}

TEST(Repair, RanksOfTheJobBecomeRanksOfTheGroup) {
  Programs programs = programs_of({{}, {}, {{CommKind::kSend, 2, 3}}, {{CommKind::kRecv, 2, 2}}});
  EXPECT_EQ(repaired(programs), (Peers{1, 0}));
  EXPECT_EQ(losses_of(programs), 2U);
  EXPECT_EQ(match_programs(programs, sample_groups()).size(), 4U);
}

TEST(Repair, InAGroupOfTwoThePeerIsTheOther) {
  Programs programs = programs_of({{{CommKind::kSend, 3, 7}}, {{CommKind::kRecv, 3, 1}}, {}, {}});
  EXPECT_EQ(repaired(programs), (Peers{0, 1}));  // in 'crossed' rank 1 is first
  EXPECT_EQ(losses_of(programs), 1U);
}

TEST(Repair, ASingleMessageThatMeetsOneOfABatchIsABatch) {
  Programs programs = programs_of({{{CommKind::kSend, 3, 0}, {CommKind::kSend, 3, 0}},
                                   {{CommKind::kRecv, 3, 1}, {CommKind::kRecv, 3, 1}},
                                   {},
                                   {}});
  programs.edit(1).instructions[0].comm->in_batch = true;
  EXPECT_THROW(static_cast<void>(match_programs(programs, sample_groups())), et_schema::Error);
  repair_messages(programs, sample_groups());
  EXPECT_EQ(programs[0].instructions[0].comm->in_batch, true);
  EXPECT_EQ(programs[0].instructions[1].comm->in_batch, std::nullopt);
  EXPECT_EQ(programs[0].losses[et_schema::Loss::kRepairedMessages], 1U);
  EXPECT_EQ(programs[1].losses[et_schema::Loss::kRepairedMessages], 0U);
  EXPECT_EQ(match_programs(programs, sample_groups()).size(), 4U);
}

}  // namespace
}  // namespace understudy::matching
