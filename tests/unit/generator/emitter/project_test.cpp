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
using et_schema::SlotId;

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
  EXPECT_NE(step.find("relu = ops[\"aten::relu\"](t.input)"), std::string::npos) << step;
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
  EXPECT_NE(project.files.at("step_rank0.py").find("ops[\"aten::relu\"]"), std::string::npos);
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
  EXPECT_NE(step.find("ops[\"aten::relu\"](t.input)"), std::string::npos) << step;
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
      {"    C_rms_norm = bench.Operator(\n"
       "        \"_C::rms_norm(Tensor result, Tensor input, Tensor weight, float epsilon) -> ()\", "
       "4, "
       "[0, 1, 2, 3],\n"
       "        \"def row(result: Tensor, input: Tensor, weight: Optional[Tensor], epsilon: "
       "float):\\n\"\n"
       "        \"  result.copy_(torch.rms_norm(input, [input.size(-1)], weight, epsilon))\\n\")\n",
       "Named.C_rms_norm(t.result, t.input, t.input, 1e-06)"});
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
  EXPECT_NE(step.find("ops[\"aten::transpose_\"](bench.another(t.input), 0, 1)"), std::string::npos)
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
  EXPECT_NE(step().find("make.zeros([(t.input, 0.75)])"), std::string::npos) << step();
  program.storages.front().bytes = 32;  // more than the tensor: its zeros are not known
  EXPECT_EQ(step().find("make.zeros"), std::string::npos);
}

/// Four layers y = linear(x, weight, bias), their backward pass, and an optimizer that takes lists.
class Training {
 public:
  Training() {
    bench_ = bench_with_kernel();
    program().instructions.clear();
    program().slots.clear();
    program().storages.clear();
    const Argument x = add({8, 64}, true);
    Argument::List weights, biases, gradients, moments;
    for (int i = 0; i < 4; ++i) {
      weights.push_back(add({64, 64}, true));
      gradients.push_back(add({64, 64}, true));
      biases.push_back(add({64}, true));
      moments.push_back(add({64, 64}, true));
      program().storages.back().state = true;
    }
    call("aten::_foreach_zero_(Tensor(a!)[] self) -> ()", {{gradients}}, {});
    Argument y = x;
    std::vector<Argument> inputs;
    for (std::size_t i = 0; i < 4; ++i) {
      inputs.push_back(y);
      const Argument z = add({8, 64}, false);
      call("aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
           {y, weights[i], biases[i]}, {z});
      y = add({8, 64}, false);
      call("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
           {inputs.back(), z, {std::int64_t{1}}}, {y});
    }
    for (std::size_t i = 4; i-- > 0;) {
      const Argument grad = add({8, 64}, false);
      call("aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
           {y, inputs[i], {std::int64_t{0}}}, {grad});
      call("aten::t(Tensor(a) self) -> Tensor(a)", {weights[i]}, {view_of(weights[i])});
      call("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
           {gradients[i], weights[i], {std::int64_t{1}}}, {gradients[i]});
    }
    call("aten::detach(Tensor(a) self) -> Tensor(a)", {y}, {view_of(y)});
    call("aten::detach(Tensor(a) self) -> Tensor(a)", {y}, {view_of(y)});
    call("aten::_foreach_lerp_.Scalar(Tensor(a!)[] self, Tensor[] tensors1, Scalar weight) -> ()",
         {{moments}, {gradients}, {0.1}}, {});
    call("aten::_foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()",
         {{weights}, {moments}, {-0.01}}, {});
    call("aten::_foreach_mul_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()", {{biases}, {0.9}},
         {});
  }
  [[nodiscard]] std::string step() const {
    return emit_project(bench_, "demo").files.at("step_rank0.py");
  }

 private:
  Program& program() { return bench_.programs.edit(0); }
  Argument add(std::vector<std::int64_t> sizes, bool external) {
    return testing_programs::ref(
        testing_programs::add_tensor(program(), std::move(sizes), external));
  }
  Argument view_of(const Argument& base) {
    et_schema::Slot slot = program().slots[std::get<Argument::SlotRef>(base.value).id];
    slot.external = false;
    program().slots.push_back(slot);
    return {Argument::SlotRef{static_cast<et_schema::SlotId>(program().slots.size() - 1)}};
  }
  void call(const std::string& schema, std::vector<Argument> args, std::vector<Argument> results) {
    testing_programs::add_call(program(), schema, std::move(args), std::move(results));
  }
  Bench bench_;
};

TEST(Project, TensorsAreNamedByTheirRolesInAFlatStep) {
  expect_lines(
      Training().step(),
      {"self.weight1 = None  # float32[64, 64]", "self.bias1 = None  # float32[64]",
       "self.gradients = [None] * 4  # 4 of those above", "self.moments = [None] * 4  # 4\n",
       "self.parameters = [None] * 4  # 4 of those above", "t.moments[0] = make.tensor(",
       "t.gradients = [t.weight_grad1, t.weight_grad2", "# forward",
       "ops[\"aten::_foreach_zero_\"](t.gradients)",
       "linear = ops[\"aten::linear\"](t.input, t.weight1, t.bias1)",
       "add = ops[\"aten::add.Tensor\"](t.input, linear)",
       "linear2 = ops[\"aten::linear\"](add, t.weight2, t.bias2)",
       "residual = ops[\"aten::add.Tensor\"](add, linear2)", "# backward", "# update",
       "ops[\"aten::detach\"](",
       "ops[\"aten::_foreach_lerp_.Scalar\"](t.moments, t.gradients, 0.1)",
       "ops[\"aten::_foreach_add_.List\"](t.parameters, t.moments, alpha=-0.01)"});
}

TEST(Project, RanksOfOneTextShareAFile) {
  Bench bench = bench_with_kernel();
  bench.programs.push_back(bench.programs.front());
  bench.sources.push_back(bench.sources.front());
  const Project project = emit_project(bench, "demo");
  EXPECT_EQ(project.files.count("step_rank0.py"), 1U);
  EXPECT_EQ(project.files.count("step_rank1.py"), 0U);
  EXPECT_NE(project.files.at("main.py").find("[step_rank0.Step, step_rank0.Step]"),
            std::string::npos);
}

}  // namespace
}  // namespace understudy::emitter
