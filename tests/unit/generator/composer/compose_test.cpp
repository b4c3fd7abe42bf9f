#include "generator/composer/mix/compose.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "testing/error_text.h"
#include "testing/made_program.h"

namespace understudy::composer {
namespace {

using et_schema::Bench;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::SlotId;
using testing_programs::ref;

/// x → relu → mm with a weight → relu, each of `ns`; and an all-reduce of the result on two ranks.
Program program_of(bool communicates, std::int64_t ns) {
  Program program;
  program.schemas = {"aten::relu(Tensor self) -> Tensor",
                     "aten::mm(Tensor self, Tensor mat2) -> Tensor"};
  const auto add = [&](bool external) {
    return testing_programs::add_tensor(program, {4, 4}, external);
  };
  std::uint64_t node = 10;
  std::int64_t start = 100;
  const auto call = [&](int schema, std::vector<SlotId> reads, SlotId makes) {
    Instruction instruction;
    instruction.name = schema == 0 ? "aten::relu" : "aten::mm";
    instruction.schema = static_cast<et_schema::SchemaId>(schema);
    instruction.node_id = node++;
    for (const SlotId slot : reads) {
      instruction.args.push_back(ref(slot));
    }
    instruction.results.push_back(ref(makes));
    instruction.timing.emplace();
    instruction.timing->host_ns = ns;
    instruction.timing->start_ns = start;
    start += 2 * ns;
    program.instructions.push_back(std::move(instruction));
  };
  const SlotId x = add(true);
  const SlotId a = add(false);
  call(0, {x}, a);
  const SlotId weight = add(true);
  const SlotId b = add(false);
  call(1, {a, weight}, b);
  const SlotId c = add(false);
  call(0, {b}, c);
  if (communicates) {
    Instruction reduce;
    reduce.kind = InstructionKind::kCollective;
    reduce.name = "allreduce";
    reduce.node_id = node++;
    for (int side = 0; side < 2; ++side) {
      reduce.args.push_back(testing_programs::list_of({c}));
    }
    reduce.comm.emplace();
    reduce.comm->kind = et_schema::CommKind::kAllReduce;
    reduce.timing.emplace();
    reduce.timing->start_ns = start;
    program.instructions.push_back(std::move(reduce));
  }
  program.profile.emplace();
  program.profile->step_ns = start;
  return program;
}

Bench bench_of(int ranks, std::int64_t ns = 1000) {
  Bench bench;
  et_schema::ProcessGroup world;
  world.name = "world";
  world.size = ranks;
  bench.groups = {world};
  for (int rank = 0; rank < ranks; ++rank) {
    bench.programs.push_back(program_of(ranks > 1, ns));
    bench.sources.push_back({"t.json", 1, 2, "1.1.1-chakra.0.0.4"});
  }
  return bench;
}

Bench load(const PlanSource& source, const std::string& /*annotation*/) {
  return bench_of(source.path == "two" ? 2 : 1, source.path == "slow" ? 3000 : 1000);
}

Plan plan_of(const std::string& text) {
  return parse_plan("sources:\n  a: {path: one}\n  two: {path: two}\n" + text, "plan.yaml");
}

std::string refusal(const std::string& text, const Load& from = load) {
  return error_of([&] { return compose(plan_of(text), from); }) + "\n";
}

TEST(Compose, RepeatsShareTensorsFromBeforeTheStep) {
  const Bench shared =
      compose(plan_of("pieces:\n  p: {of: a}\nrun:\n  - {piece: p, repeat: 3}\n"), load);
  ASSERT_EQ(shared.programs.size(), 1U);
  EXPECT_EQ(shared.programs[0].instructions.size(), 9U);
  EXPECT_EQ(shared.programs[0].slots.size(), 2U + 3U * 3U);
  const Bench own = compose(
      plan_of("pieces:\n  p: {of: a}\nrun:\n  - {piece: p, repeat: 3, tensors: own}\n"), load);
  EXPECT_EQ(own.programs[0].slots.size(), 3U * 5U);
  // Each instruction keeps its origin, the recorded times follow each other.
  ASSERT_EQ(own.origins[0].size(), 3U);
  EXPECT_EQ(own.origins[0][2].first, 6U);
  EXPECT_EQ(own.origins[0][2].repetition, 2U);
  EXPECT_EQ(own.origins[0][2].piece, "p of a");
  EXPECT_EQ(own.programs[0].instructions[0].timing->start_ns, 0);
  EXPECT_EQ(own.programs[0].instructions[3].timing->start_ns, 5000);
  EXPECT_EQ(own.programs[0].profile->step_ns, 15000);
}

TEST(Compose, KeepsTheMachineCodeThatIsLaunched) {
  const std::string launched = "206d4e64d04f4d84";
  const auto load_kernels = [&](const PlanSource& source, const std::string& /*annotation*/) {
    Bench bench = bench_of(1);
    Program& program = bench.programs.edit(0);
    Instruction& launch = program.instructions.emplace_back();
    launch.kind = InstructionKind::kKernel;
    launch.name = "scale";
    launch.node_id = 20;
    launch.args = {{std::string("-")}, {"launch " + launched + " 32 1 1"}};
    for (const std::string& key : {launched, std::string("bdfcde3972d085c8")}) {
      et_schema::CompiledKernel& kernel = program.kernels.emplace_back();
      kernel.key = key;
      kernel.builds.emplace_back().architecture = source.path == "two" ? 80 : 90;
    }
    return bench;
  };
  const Bench both =
      compose(plan_of("pieces:\n  p: {of: a}\n  q: {of: two}\nrun: [p, q]\n"), load_kernels);
  ASSERT_EQ(both.programs[0].kernels.size(), 1U);
  ASSERT_EQ(both.programs[0].kernels[0].builds.size(), 2U);
  EXPECT_EQ(both.programs[0].kernels[0].builds[0].architecture, 80);
  EXPECT_EQ(both.programs[0].kernels[0].builds[1].architecture, 90);
  const Bench without =
      compose(plan_of("pieces:\n  p: {of: a, nodes: 10-12}\nrun: [p]\n"), load_kernels);
  EXPECT_TRUE(without.programs[0].kernels.empty());
}

TEST(Compose, WhatAPieceReadsAndDoesNotMakeIsMadeBeforeTheStep) {
  const Bench bench = compose(plan_of("pieces:\n  p: {of: a, nodes: 11-12}\nrun: [p]\n"), load);
  const Program& program = bench.programs[0];
  ASSERT_EQ(program.instructions.size(), 2U);
  EXPECT_TRUE(program.slots[0].external && program.slots[1].external);
  EXPECT_TRUE(program.storages[program.slots[0].storage].external);
  EXPECT_FALSE(program.slots[2].external);
}

TEST(Compose, RunsSideBySide) {
  const std::string pieces = "pieces:\n  p: {of: a}\n  q: {of: two, operators: aten}\n";
  const Bench beside = compose(plan_of(pieces + "run:\n  - side_by_side: [p, q]\n"), load);
  EXPECT_EQ(beside.programs[0].profile->step_ns, 5000);
  EXPECT_NE(beside.programs[0].instructions[0].thread, beside.programs[0].instructions[1].thread);
}

TEST(Compose, ABatchOfMessagesStaysWhole) {
  const auto with_batch = [](const PlanSource& source, const std::string& annotation) {
    Bench bench = load(source, annotation);
    std::vector<Instruction>& all = bench.programs.edit(0).instructions;
    for (const std::size_t i : {0U, 2U}) {  // the operator between them is of the batch's time
      all[i].kind = InstructionKind::kP2p;
      all[i].comm.emplace();
      all[i].comm->kind = i == 0 ? et_schema::CommKind::kSend : et_schema::CommKind::kRecv;
      all[i].comm->root_or_peer = 0;  // of a job of one rank: itself
      all[i].comm->in_batch = true;
      all[i].comm->joins_batch = i == 2;
      all[i].args = {testing_programs::list_of({0}), testing_programs::list_of({0})};
      all[i].results.clear();
    }
    return bench;
  };
  const auto occurrences = [&](const std::string& run) {
    std::string text;
    const Bench bench = compose(plan_of("pieces:\n  p: {of: a}\nrun:\n  - " + run), with_batch);
    for (const et_schema::Origin& origin : bench.origins[0]) {
      text += origin.occurrence + std::to_string(origin.count);
    }
    return text;
  };
  EXPECT_EQ(occurrences("side_by_side: [p, {piece: p, as: q}]\n"), "p3q3");
}

TEST(Compose, ThreadsAreNumberedFromOneAlsoOfNestedLanes) {
  const Bench bench =
      compose(plan_of("pieces:\n  p: {of: a}\n  q: {of: two, operators: aten}\nrun:\n  - p\n"
                      "  - side_by_side:\n      - side_by_side: [{piece: p, as: r}, q]\n"
                      "      - {piece: p, as: s}\n"),
              [](const PlanSource& source, const std::string& annotation) {
                Bench origin = load(source, annotation);
                origin.programs.edit(0).instructions[2].thread = 7;
                origin.programs.edit(0).instructions[2].body.resize(1);
                origin.programs.edit(0).instructions[2].body[0].thread = 7;
                return origin;
              });
  std::map<std::string, std::set<std::uint64_t>> threads;
  for (const et_schema::Origin& origin : bench.origins[0]) {
    for (std::uint64_t i = origin.first; i < origin.first + origin.count; ++i) {
      const Instruction& instruction = bench.programs[0].instructions[i];
      threads[origin.occurrence].insert(instruction.thread);
      if (!instruction.body.empty()) {
        EXPECT_EQ(instruction.body[0].thread, instruction.thread);
      }
    }
  }
  EXPECT_EQ(threads, (std::map<std::string, std::set<std::uint64_t>>{
                         {"p", {1, 2}}, {"r", {3, 6}}, {"q", {4, 7}}, {"s", {5, 8}}}));
}

TEST(Compose, RepetitionsAreCountedAcrossWhatRepeatsAroundThem) {
  const Bench bench =
      compose(plan_of("pieces:\n  p: {of: a}\n  q: {of: two, operators: aten}\n"
                      "run:\n  - {side_by_side: [{piece: p, repeat: 2}, q], repeat: 2}\n"),
              load);
  std::map<std::string, std::set<std::uint64_t>> repetitions;
  for (const et_schema::Origin& origin : bench.origins[0]) {
    repetitions[origin.occurrence].insert(origin.repetition);
  }
  EXPECT_EQ(repetitions,
            (std::map<std::string, std::set<std::uint64_t>>{{"p", {0, 1, 2, 3}}, {"q", {0, 1}}}));
}

TEST(Compose, CollectivesGetGroupsOfTheNewJob) {
  const Bench bench = compose(plan_of("ranks: 4\npieces:\n  p: {of: two}\n  q: {of: a}\n"
                                      "run:\n  - {piece: p, ranks: [3, 1]}\n  - q\n"),
                              load);
  ASSERT_EQ(bench.programs.size(), 4U);
  ASSERT_EQ(bench.groups.size(), 2U);
  EXPECT_EQ(bench.groups[1].ranks, (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(bench.programs[1].instructions[3].comm->group, 1U);
  EXPECT_EQ(bench.programs[0].instructions.size(), 3U);
}

TEST(Compose, RefusesWhatCannotBe) {
  EXPECT_EQ(refusal("pieces:\n  p: {of: a, class: convolution}\nrun: [p]\n"),
            "a piece that selects nothing\n  file:     plan.yaml\n  field:    line 5\n"
            "  expected: an instruction of a\n  got:      none with class convolution\n"
            "  hint:     understudy inspect --by name lists the source's operators\n");
  EXPECT_EQ(refusal("pieces:\n  p: {of: a}\n  q: {of: a, class: matmul}\nrun: [p, q]\n"),
            "pieces that overlap\n  file:     plan.yaml\n  field:    line 6\n"
            "  expected: no instruction of piece p (line 5)\n  got:      node 11 (aten::mm)\n");
  EXPECT_EQ(
      refusal("pieces:\n  p: {of: two}\nrun: [p]\n"),
      "world sizes that do not fit: the piece communicates\n  file:     plan.yaml\n"
      "  field:    line 6\n  expected: 2 ranks, as its source has\n  got:      1 ranks\n"
      "  hint:     run it on as many ranks (ranks: [0, 1, …]), or choose operators that do not "
      "communicate\n");
  EXPECT_EQ(refusal("ranks: 2\npieces:\n  p: {of: a}\nrun:\n  - {piece: p, ranks: [0]}\n"),
            "a rank with nothing to do\n  file:     plan.yaml\n  expected: a piece on each rank\n"
            "  got:      none on rank 1\n");
}

TEST(Compose, PlacesInTheHeapOfAnotherProcessAreNotTaken) {
  const auto with_blocks = [](const PlanSource& source, const std::string& annotation) {
    Bench bench = load(source, annotation);
    bench.programs.edit(0).heap_blocks[0] = {{1 << 20, 0}};
    bench.programs.edit(0).instructions[0].timing->page_faults = 7;
    return bench;
  };
  const Bench composed = compose(plan_of("pieces:\n  p: {of: a}\nrun: [p]\n"), with_blocks);
  EXPECT_TRUE(composed.programs[0].heap_blocks.empty());
  EXPECT_FALSE(composed.programs[0].instructions[0].timing->page_faults);
}

}  // namespace
}  // namespace understudy::composer
