#include <gtest/gtest.h>

#include "generator/emitter/source/emit.h"
#include "testing/made_program.h"

namespace understudy::emitter {
namespace {

using et_schema::Argument;
using et_schema::Bench;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;

/// relu of a tensor, and a kernel of a compiled graph that reads it.
Bench bench_with_kernel() {
  Program program;
  program.schemas = {"aten::relu(Tensor self) -> Tensor"};
  testing_programs::add_tensor(program, {4}, true);
  testing_programs::add_tensor(program, {4});
  Instruction relu;
  relu.name = "aten::relu";
  relu.schema = 0;
  relu.args = {{Argument::SlotRef{0}}};
  relu.results = {{Argument::SlotRef{1}}};
  relu.timing.emplace();
  relu.timing->host_ns = 30;
  Instruction kernel;
  kernel.kind = InstructionKind::kKernel;
  kernel.name = "triton_poi_0";
  kernel.args = {{Argument::SlotRef{1}}};
  kernel.timing.emplace();
  kernel.timing->host_ns = 10;
  program.instructions = {relu, kernel};
  Bench bench;
  bench.sources = {{"t.json", 1, 2, "1.1.1-chakra.0.0.4"}};
  bench.groups = {et_schema::ProcessGroup()};
  bench.programs = {program};
  return bench;
}

void expect_lines(const std::string& text, const std::vector<std::string>& lines) {
  std::size_t at = 0;
  for (const std::string& line : lines) {
    const std::size_t found = text.find(line, at);
    ASSERT_NE(found, std::string::npos) << line << "\nis not (or not there) in\n" << text;
    at = found + line.size();
  }
}

TEST(Project, NamesWhatItCannotShowWithItsShareOfTime) {
  const Project project = emit_project(bench_with_kernel(), "demo");
  ASSERT_EQ(project.missing.size(), 1U);
  EXPECT_EQ(project.missing.front().name, "triton_poi_0");
  EXPECT_EQ(project.missing.front().reason,
            "a compiled kernel: a benchmark does not hold its code; "
            "rank-R.compiled.json of a capture does");
  EXPECT_EQ(project.missing.front().count, 1U);
  EXPECT_DOUBLE_EQ(project.missing.front().time_share.value_or(0), 0.25);
  EXPECT_EQ(project.operators, 2U);
  const std::string& step = project.files.at("step_rank0.py");
  EXPECT_NE(step.find("# triton_poi_0 is left out: a compiled kernel"), std::string::npos) << step;
  EXPECT_NE(step.find("t1 = aten.relu.default(t0)"), std::string::npos) << step;
}

/// mine::op in relu's place, with relu below it.
Bench bench_with_body() {
  Bench bench = bench_with_kernel();
  Program& program = bench.programs.edit(0);
  program.schemas.emplace_back("mine::op(Tensor x) -> Tensor");
  program.instructions.pop_back();
  Instruction& op = program.instructions.front();
  op.body = {op};
  op.body.front().timing.reset();
  op.name = "mine::op";
  op.schema = 1;
  return bench;
}

TEST(Project, BodiesStandInPlaceOfCallsThatFail) {
  Bench bench = bench_with_body();
  bench.programs.edit(0).instructions.front().name = "aten::einsum";
  bench.programs.edit(0).schemas[1] = "aten::einsum(Tensor x) -> Tensor";
  const WhyFailing why = [](const Program&, const Instruction& instruction) {
    return std::string(instruction.name == "aten::einsum" ? "it fails: no equation" : "");
  };
  const Project project = emit_project(bench, "demo", why);
  EXPECT_TRUE(project.missing.empty());
  EXPECT_NE(project.files.at("step_rank0.py").find("aten.relu.default("), std::string::npos);
  bench.programs.edit(0).instructions.front().body.clear();
  const Project without = emit_project(bench, "demo", why);
  ASSERT_EQ(without.missing.size(), 1U);
  EXPECT_EQ(without.missing.front().reason, "it fails: no equation");
}

TEST(Project, BodiesStandInPlaceOfOperatorsThatNobodyHas) {
  const Project project = emit_project(bench_with_body(), "demo");
  EXPECT_TRUE(project.missing.empty());
  EXPECT_TRUE(project.foreign.empty());
  const std::string& step = project.files.at("step_rank0.py");
  EXPECT_NE(step.find("aten.relu.default(t0)"), std::string::npos) << step;
  EXPECT_EQ(step.find("mine"), std::string::npos) << step;
}

/// fsdp::split_with_sizes_copy, which gives nothing and fills a list.
TEST(Project, BodiesThatWriteIntoListsAreWhole) {
  Bench bench = bench_with_body();
  et_schema::Program& program = bench.programs.edit(0);
  program.schemas.emplace_back("mine::copy(Tensor x, *, Tensor(a!)[] out) -> ()");
  program.schemas.emplace_back(
      "aten::split_with_sizes_copy.out(Tensor self, SymInt[] split_sizes, int dim=0, *, "
      "Tensor(a!)[] out) -> ()");
  Instruction& op = program.instructions.front();
  const Argument source = op.args.front();
  const Argument filled{Argument::List{op.results.front()}};
  for (et_schema::Slot& slot : program.slots) {
    slot.external = true;
  }
  for (et_schema::Storage& storage : program.storages) {
    storage.external = true;
  }
  op.name = "mine::copy";
  op.schema = 2;
  op.args = {source, filled};
  op.results.clear();
  Instruction& below = op.body.front();
  below.name = "aten::split_with_sizes_copy.out";
  below.schema = 3;
  below.args = {source, Argument{Argument::List{Argument{std::int64_t{4}}}},
                Argument{std::int64_t{0}}, filled};
  below.results.clear();
  const Project project = emit_project(bench, "demo");
  EXPECT_TRUE(project.missing.empty());
  EXPECT_TRUE(project.foreign.empty());
}

TEST(Project, TheOperatorMapsFunctionsRunInPlaceOfALibrarys) {
  Bench bench = bench_with_kernel();
  Program& program = bench.programs.edit(0);
  program.schemas = {
      "_C::rms_norm(Tensor! result, Tensor input, Tensor weight, float epsilon) -> ()"};
  program.instructions.resize(1);
  Instruction& norm = program.instructions.front();
  norm.name = "_C::rms_norm";
  norm.args = {norm.results.front(), norm.args.front(), norm.args.front(), Argument{1e-6}};
  norm.results.clear();
  program.slots[1].external = program.storages[1].external = true;
  const Project project = emit_project(bench, "demo");
  EXPECT_TRUE(project.missing.empty());
  EXPECT_TRUE(project.foreign.empty());
  ASSERT_EQ(project.mapped.size(), 1U);
  EXPECT_EQ(project.mapped.front().name, "_C::rms_norm");
  EXPECT_EQ(project.mapped.front().reason, "the operator map: aten::rms_norm");
  expect_lines(
      project.files.at("step_rank0.py"),
      {"bench.row(\"_C::rms_norm\", [\"result\", \"input\", \"weight\", \"epsilon\"], "
       "[\"result\", \"input\", \"weight\", \"epsilon\"], \"def row(result: Tensor, input: Tensor, "
       "weight: Optional[Tensor], epsilon: float):\\n  result.copy_(torch.rms_norm(input, "
       "[input.size(-1)], weight, epsilon))\\n\")\n",
       "[_C] = bench.operators(\n    \"_C::rms_norm\",\n)",
       "_C.rms_norm.default(t1, t0, t0, 1e-06)"});
}

TEST(Project, OperatorsThatNeedALibraryAreNamed) {
  Bench bench = bench_with_body();
  Instruction& op = bench.programs.edit(0).instructions.front();
  op.body.front().results = {{Argument::None{}}};
  const auto reason_of = [&] {
    const Project project = emit_project(bench, "demo");
    EXPECT_TRUE(project.missing.empty());
    return project.foreign.size() == 1 && project.foreign.front().name == "mine::op" &&
                   project.foreign.front().count == 1U
               ? project.foreign.front().reason
               : "";
  };
  EXPECT_EQ(reason_of(), "not of LibTorch, and what ran below it does not make its results");
  op.body.clear();
  EXPECT_EQ(reason_of(), "not of LibTorch, and the trace shows no operators below it");
}

TEST(Project, WhatIsLaidOutInPlaceKeepsItsTensorsLayout) {
  Bench bench = bench_with_kernel();
  Program& program = bench.programs.edit(0);
  program.schemas = {"aten::transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)"};
  program.instructions.resize(1);
  Instruction& transposed = program.instructions.front();
  transposed.name = "aten::transpose_";
  transposed.args.push_back(Argument{std::int64_t{0}});
  transposed.args.push_back(Argument{std::int64_t{1}});
  const std::string step = emit_project(bench, "demo").files.at("step_rank0.py");
  EXPECT_NE(step.find("aten.transpose_.default(bench.another(t0), 0, 1)"), std::string::npos)
      << step;
}

TEST(Project, StatesHaveTheShareOfZerosThatTheOriginalHad) {
  Bench bench = bench_with_kernel();
  Program& program = bench.programs.edit(0);
  program.schemas = {"aten::relu_(Tensor(a!) self) -> Tensor(a!)"};
  program.instructions.resize(1);
  program.instructions.front().results = program.instructions.front().args;
  program.storages.front().zeros = 0.75;
  const auto step = [&] { return emit_project(bench, "demo").files.at("step_rank0.py"); };
  EXPECT_NE(step().find("bench.had_zeros([(t0, 0.75)])"), std::string::npos) << step();
  program.storages.front().bytes = 32;  // more than the tensor: its zeros are not known
  EXPECT_EQ(step().find("had_zeros"), std::string::npos);
}

/// y = relu(x), z = relu(y): a tensor of 256 KiB between them, behind which more follows.
Bench bench_with_memory() {
  Bench bench = bench_with_kernel();
  Program& program = bench.programs.edit(0);
  program.instructions.clear();
  Argument from = testing_programs::ref(0);
  for (int i = 0; i < 3; ++i) {
    const Argument to = testing_programs::ref(testing_programs::add_tensor(program, {64, 1024}));
    testing_programs::add_call(program, "aten::relu(Tensor self) -> Tensor", {from}, {to});
    from = to;
  }
  return bench;
}

TEST(Project, MemoryGoesWithItsLastReader) {
  expect_lines(emit_project(bench_with_memory(), "demo").files.at("step_rank0.py"),
               {"    t2 = aten.relu.default(t0)\n    t3 = aten.relu.default(t2)\n    t2 = None\n"
                "    t4 = aten.relu.default(t3)\n"});
}

TEST(Project, WhatOutlivesItsStepIsReleasedInTheNext) {
  Bench bench = bench_with_memory();
  Program& program = bench.programs.edit(0);
  program.storages[program.slots[4].storage].held_until = 1;
  expect_lines(
      emit_project(bench, "demo").files.at("step_rank0.py"),
      {"# What outlives its step.\nt4 = None\n", "    global t4\n",
       "    t4 = None\n    t2 = aten.relu.default(t0)\n    t3 = ", "t4 = aten.relu.default(t3)"});
}

TEST(Project, ResultsOfWhatIsLeftOutAreMadeBeforeTheStep) {
  Bench bench = bench_with_memory();
  bench.programs.edit(0).instructions[1].kind = InstructionKind::kKernel;
  expect_lines(
      emit_project(bench, "demo").files.at("step_rank0.py"),
      {"given3 = bench.tensor(3, torch.float32, [64, 1024])", "t4 = aten.relu.default(given3)"});
}

TEST(Project, ResultsInListsAndTuplesAreUnpacked) {
  Bench bench = bench_with_memory();
  Program& program = bench.programs.edit(0);
  program.schemas.emplace_back("mine::op(Tensor x) -> (Tensor, Tensor[], int, Tensor)");
  Instruction& call = program.instructions[0];
  call.name = "mine::op";
  call.schema = static_cast<et_schema::SchemaId>(program.schemas.size() - 1);
  const Argument whole = call.results.front();
  call.results = {{Argument::None{}}, {Argument::List{whole, {Argument::Undefined{}}}}};
  expect_lines(emit_project(bench, "demo").files.at("step_rank0.py"),
               {"    _, [t2, _], _, _ = mine.op.default(t0)\n"});
}

TEST(Project, RanksOfOneTextShareAFile) {
  Bench bench = bench_with_kernel();
  bench.programs.push_back(bench.programs.front());
  bench.sources.push_back(bench.sources.front());
  const Project project = emit_project(bench, "demo");
  EXPECT_EQ(project.files.count("step_rank0.py"), 1U);
  EXPECT_EQ(project.files.count("step_rank1.py"), 0U);
  EXPECT_NE(project.files.at("main.py").find("[\"step_rank0\", \"step_rank0\"]"),
            std::string::npos);
}

}  // namespace
}  // namespace understudy::emitter
