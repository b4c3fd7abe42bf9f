#include "generator/resize/world.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "made_program.h"
#include "testing/error_text.h"

namespace understudy::generator {
namespace {

using et_schema::CommKind;
using et_schema::OtherSize;
using et_schema::SlotId;
using testing::list_of;
using testing::Made;
using testing::ref;
using testing_errors::error_of;

/// A job whose ranks do the same, in one group.
class World : public ::testing::Test {
 protected:
  void call(CommKind kind, SlotId input, SlotId output) {
    made_.add("call", {list_of({input}), list_of({output})}, {});
    et_schema::Instruction& call = made_.program.instructions.back();
    call.kind = et_schema::InstructionKind::kCollective;
    call.comm.emplace().kind = kind;
  }
  ScaledWorld scaled(std::size_t from, int to, GroupKinds kinds = {}) {
    bench_ = {};
    bench_.programs = std::vector(from, made_.program);
    add_world(static_cast<std::int64_t>(from));
    return with_world_size(bench_, {.ranks = to, .kinds = std::move(kinds)}, ask_);
  }

  void add_world(std::int64_t ranks) {
    et_schema::ProcessGroup& group = bench_.groups.emplace_back();
    group.name = "world";
    group.size = ranks;
  }

  Made made_;
  et_schema::Bench bench_;
  AskSizes ask_;  ///< only parts of parameters ask
};

TEST_F(World, OneRankOfDataParallelOnesStandsForAll) {
  const SlotId gradient = made_.op("aten::mul.Tensor", {ref(made_.data({8, 4}))}, {8, 4});
  call(CommKind::kAllReduce, gradient, gradient);
  const ScaledWorld world = scaled(1, 4);
  EXPECT_EQ(world.program_of, (std::vector<std::uint32_t>{0, 0, 0, 0}));
  EXPECT_EQ(world.groups.front().size, 4);
  EXPECT_FALSE(world.has_other_shapes);
  EXPECT_EQ(world.scaled,
            (et_schema::ScaledJob{.world_size = 1,
                                  .ranks = {0, 0, 0, 0},
                                  .groups = {{.name = "world",
                                              .description = "",
                                              .kind = "data",
                                              .why = "no layer computes on most of what it sums",
                                              .rule = "sums and broadcasts keep their size",
                                              .ranks_before = 1,
                                              .ranks_after = 4,
                                              .calls = 1,
                                              .sent_bytes_before = 128,
                                              .sent_bytes_after = 128,
                                              .received_bytes_before = 128,
                                              .received_bytes_after = 128}}}));
}

TEST_F(World, RanksThatDoTheSameShareAProgramAndNoneIsMissing) {
  call(CommKind::kAllReduce, made_.data({8}), made_.slot({8}));
  made_.program.losses.add(et_schema::Loss::kMissingRanks, 3);
  const ScaledWorld world = scaled(1, 4);
  const et_schema::Bench bench = bench_of(bench_, world, {.ranks = 4, .kinds = {}});
  ASSERT_EQ(bench.programs.size(), 4U);
  for (const et_schema::Program& program : bench.programs) {
    EXPECT_EQ(&program, &bench.programs[0]);
    EXPECT_EQ(program.losses[et_schema::Loss::kMissingRanks], 0U);
    EXPECT_EQ(program.selection.filters, (std::vector<std::string>{"--world-size 4"}));
  }
}

/// tests/scripts/other_sizes_test.py has what PyTorch tells.
class ShardedWorld : public World {
 protected:
  ShardedWorld() {
    call(CommKind::kAllGatherBase, part_, whole_);
    call(CommKind::kReduceScatterBase, whole_, gradient_);
    ask_ = [this](const et_schema::Program& program, const BatchSize& asked) {
      EXPECT_EQ(asked.parts, (Pairs{{part_, whole_}, {gradient_, whole_}}));
      std::vector<OtherSize> told = more_;
      for (const SlotId slot : {part_, gradient_}) {
        const std::int64_t part = program.slots[slot].sizes[0] * asked.from / asked.to;
        told.push_back({.slot = slot, .sizes = {part}, .strides = {1}, .step = 1});
      }
      return told;
    };
  }

  using Pairs = std::vector<std::pair<SlotId, SlotId>>;
  SlotId part_ = made_.data({12});
  SlotId whole_ = made_.slot({24});
  SlotId gradient_ = made_.slot({12});
  std::vector<OtherSize> more_;  ///< told beside both parts
};

TEST_F(ShardedWorld, APartFollowsTheRanksAndAWholeKeepsItsSize) {
  for (const int ranks : {1, 4, 8}) {
    const ScaledWorld world = scaled(2, ranks);
    const et_schema::Program& program = world.programs.back();
    const std::int64_t part = 24 / ranks;
    EXPECT_EQ(program.slots[part_].offset, ranks - 1);
    EXPECT_EQ(program.slots[part_].sizes, (testing::Sizes{part}));
    EXPECT_EQ(program.slots[gradient_].sizes, (testing::Sizes{part}));
    EXPECT_EQ(program.slots[whole_].sizes, (testing::Sizes{24}));
    EXPECT_EQ(program.storages[program.slots[part_].storage].bytes, (ranks - 1 + part) * 4);
    const et_schema::ScaledGroup& group = world.scaled.groups.front();
    EXPECT_EQ(group.kind, "sharded");
    EXPECT_EQ(group.why, "it gathers and scatters flat parts");
  }
}

TEST_F(ShardedWorld, OperatorsThatCannotFollowAreRefused) {
  made_.op("mine::quantize", {ref(gradient_)}, {12});
  more_ = {{.instruction = 2, .refused = "no such operator"}};
  EXPECT_EQ(error_of(et_schema::ErrorKind::kBadInput, [&] { return scaled(2, 4); }),
            "the job cannot be scaled to another number of ranks\n"
            "  rank:     0\n"
            "  node:     3\n"
            "  field:    mine::quantize\n"
            "  expected: operators that run with parts of 4 ranks in place of 2\n"
            "  got:      no such operator\n"
            "  hint:     capture the job on that number of ranks");
}

/// FSDP1 makes its part of the gradient like the first piece of the whole one.
TEST_F(ShardedWorld, APartMadeLikeAPieceOfAWholeFollowsTheRanks) {
  const SlotId piece = made_.slot({12});
  const SlotId part = made_.op("aten::empty_like", {ref(piece)}, {12});
  more_ = {{.slot = part, .sizes = {6}, .strides = {1}}};
  const ScaledWorld world = scaled(2, 4);
  const et_schema::Program& program = world.programs.front();
  EXPECT_EQ(program.slots[part].sizes, (testing::Sizes{6}));
  EXPECT_EQ(program.slots[piece].sizes, (testing::Sizes{12}));
  const auto like = std::get<et_schema::Argument::SlotRef>(program.instructions[2].args[0].value);
  EXPECT_EQ(program.slots[like.id].sizes, (testing::Sizes{6}));
  EXPECT_TRUE(program.slots[like.id].external);
}

/// The storage of a part that was freed is one storage in the trace with what got its memory.
TEST_F(ShardedWorld, AWholeInMemoryWhereAPartLayGetsItsOwn) {
  const SlotId table = made_.slot({2, 10});
  made_.program.slots[table].storage = made_.program.slots[gradient_].storage;
  made_.program.slots[table].dtype = et_schema::DType::kBFloat16;
  made_.add("as_strided", {ref(gradient_)}, {ref(table)});
  made_.program.instructions.back().kind = et_schema::InstructionKind::kAlias;
  more_ = {{.slot = table, .sizes = {4, 5}, .strides = {5, 1}}};
  const ScaledWorld world = scaled(2, 4);
  const et_schema::Program& program = world.programs.back();
  EXPECT_EQ(program.slots[gradient_].sizes, (testing::Sizes{6}));
  EXPECT_EQ(program.slots[table].sizes, (testing::Sizes{4, 5}));
  EXPECT_NE(program.slots[table].storage, program.slots[gradient_].storage);
  EXPECT_EQ(program.storages[program.slots[table].storage].bytes, 40);
  EXPECT_TRUE(program.storages[program.slots[table].storage].external);
  EXPECT_EQ(program.storages[program.slots[gradient_].storage].bytes, (3 + 6) * 4);
}

TEST_F(World, TensorParallelRanksKeepTheirNumber) {
  const SlotId sum = made_.op("aten::mm", {ref(made_.data({8, 4}))}, {8, 4});
  call(CommKind::kAllReduce, sum, sum);
  made_.op("aten::mm", {ref(sum)}, {8, 4});
  EXPECT_EQ(error_of(et_schema::ErrorKind::kBadInput, [&] { return scaled(2, 4); }),
            "the job cannot be scaled to another number of ranks\n"
            "  field:    --world-size\n"
            "  expected: a group whose ranks divide the batch: data, sharded or expert\n"
            "  got:      group 'world' is tensor: layers compute on most of what it sums\n"
            "  hint:     the only size that works is 2; --group NAME=data says that a group is of "
            "data-parallel ranks");
  const ScaledWorld world = scaled(2, 4, {{"world", GroupKind::kData}});
  EXPECT_EQ(world.scaled.groups.front().why, "--group world=data");
  EXPECT_EQ(world.scaled.ranks, (std::vector<std::int64_t>{0, 1, 0, 1}));
  // The size stays: a rank that was not traced does as the one that was.
  bench_.programs = std::vector(1, made_.program);
  bench_.partial = et_schema::PartialJob{.world_size = 2, .ranks = {1}};
  EXPECT_EQ(with_world_size(bench_, {.ranks = 2}, ask_).scaled.ranks,
            (std::vector<std::int64_t>{1, 1}));
}

TEST_F(World, RanksOfAKindShareAProgramAndHaveTheirOwnGroups) {
  const SlotId sum = made_.data({8});
  call(CommKind::kAllReduce, sum, sum);
  made_.program.instructions.back().comm->group = 1;
  bench_.programs = std::vector(1, made_.program);
  bench_.partial = et_schema::PartialJob{.world_size = 4, .ranks = {0}};
  add_world(4);
  bench_.groups.push_back({"3", "", "", {0, 1}, 2});
  bench_.groups.push_back({"4", "", "", {2, 3}, 2});
  const WorldSize size{.ranks = 4, .kinds = {{"3", GroupKind::kTensor}}};
  const et_schema::Bench bench = bench_of(bench_, with_world_size(bench_, size, ask_), size);
  EXPECT_EQ(&bench.programs[0], &bench.programs[3]);
  EXPECT_TRUE(bench.programs.groups(1).empty());
  EXPECT_EQ(bench.programs.groups(3), (et_schema::OwnGroups{{1, 2}}));
  EXPECT_EQ(bench.programs.of(3).instructions.back().comm->group, 2U);
  EXPECT_EQ(bench.groups[1].name + bench.groups[2].name, "34");
}

TEST_F(World, AMessageInTheGroupOfAllStaysInItsRow) {
  const SlotId sent = made_.data({8});
  call(CommKind::kAllReduce, sent, sent);
  made_.program.instructions.back().comm->group = 1;
  call(CommKind::kSend, sent, sent);
  bench_.programs = {made_.program, made_.program};
  bench_.programs.edit(0).instructions.back().comm->root_or_peer = 2;
  bench_.partial = et_schema::PartialJob{.world_size = 4, .ranks = {0, 2}};
  add_world(4);
  bench_.groups.push_back({"3", "", "", {0, 1}, 2});
  const WorldSize size{.ranks = 4, .kinds = {{"3", GroupKind::kTensor}}};
  const ScaledWorld world = with_world_size(bench_, size, ask_);
  for (std::size_t rank = 0; rank < 4; ++rank) {  // from stage to stage, there and back
    const et_schema::Program& program = world.programs[world.program_of[rank]];
    EXPECT_EQ(program.instructions.back().comm->root_or_peer, (rank + 2) % 4);
  }
}

TEST_F(World, RanksThatCallOtherOperatorsAreRefused) {
  made_.op("aten::mm", {ref(made_.data({8, 4}))}, {8, 4});
  bench_.programs = {made_.program, made_.program};
  add_world(2);
  const auto refusal = [&] {
    return error_of(et_schema::ErrorKind::kBadInput, [&] {
      return with_world_size(bench_, {.ranks = 4, .kinds = {{"world", GroupKind::kData}}}, ask_);
    });
  };
  const std::string hint =
      "  hint:     generate it from one of them, which then stands for the other, or capture the "
      "job "
      "on that number of ranks";
  bench_.programs.edit_each([](et_schema::Program& program, std::size_t) {
    et_schema::Instruction& call = program.instructions.emplace_back(program.instructions[0]);
    call.node_id = 2;
    call.name = "call";
    call.kind = et_schema::InstructionKind::kCollective;
    call.comm.emplace().kind = CommKind::kBarrier;
  });
  bench_.programs.edit(1).instructions[0].name = "aten::bmm";
  EXPECT_EQ(refusal(),
            "the job cannot be scaled to another number of ranks\n"
            "  rank:     1\n"
            "  node:     1\n"
            "  field:    --world-size\n"
            "  expected: aten::mm, as rank 0 calls there\n"
            "  got:      aten::bmm\n" +
                hint);
  bench_.programs.edit(1).instructions.clear();
  EXPECT_EQ(refusal(),
            "the job cannot be scaled to another number of ranks\n"
            "  rank:     1\n"
            "  field:    --world-size\n"
            "  expected: aten::mm, as rank 0 calls there\n"
            "  got:      the step's end\n" +
                hint);
}

TEST_F(World, ExpertsGetAsManyRowsFromMoreRanks) {
  const SlotId tokens = made_.data({8, 4});
  const SlotId received = made_.slot({8, 4});
  call(CommKind::kAllToAllV, tokens, received);
  made_.program.instructions.back().comm->in_splits = {5, 3};
  made_.program.instructions.back().comm->out_splits = {5, 3};
  bench_.programs = {made_.program, made_.program};
  bench_.programs.edit(1).instructions.back().comm->in_splits = {3, 5};
  bench_.programs.edit(1).instructions.back().comm->out_splits = {3, 5};
  add_world(2);
  const ScaledWorld world = with_world_size(bench_, {.ranks = 4, .kinds = {}}, ask_);
  ASSERT_EQ(world.programs.size(), 4U);
  for (std::size_t from = 0; from < 4; ++from) {
    const auto& sent = world.programs[from].instructions.back().comm->in_splits;
    ASSERT_EQ(sent.size(), 4U);
    EXPECT_EQ(sent[0] + sent[1] + sent[2] + sent[3], 8);
    for (std::size_t to = 0; to < 4; ++to) {
      EXPECT_EQ(sent[to], world.programs[to].instructions.back().comm->out_splits[from]);
    }
  }
}

TEST_F(World, AGroupThatIsNotThereIsRefused) {
  const SlotId sum = made_.data({8});
  call(CommKind::kAllReduce, sum, sum);
  EXPECT_EQ(error_of(et_schema::ErrorKind::kUsage,
                     [&] {
                       return scaled(2, 4, {{"tp", GroupKind::kTensor}});
                     }),
            "no such process group\n"
            "  field:    --group\n"
            "  expected: world\n"
            "  got:      tp");
}

}  // namespace
}  // namespace understudy::generator
