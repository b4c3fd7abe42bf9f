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

TEST(Project, NamesWhatItCannotShowWithItsShareOfTime) {
  const Project project = emit_project(bench_with_kernel(), Language::kCpp, "demo");
  ASSERT_EQ(project.missing.size(), 1U);
  EXPECT_EQ(project.missing.front().name, "triton_poi_0");
  EXPECT_EQ(project.missing.front().reason,
            "a compiled kernel: a benchmark does not hold its code; "
            "rank-R.compiled.json of a capture does");
  EXPECT_EQ(project.missing.front().count, 1U);
  EXPECT_DOUBLE_EQ(project.missing.front().time_share.value_or(0), 0.25);
  EXPECT_EQ(project.operators, 2U);
  const std::string& step = project.files.at("step_rank0.cpp");
  EXPECT_NE(step.find("// triton_poi_0 is left out: a compiled kernel"), std::string::npos) << step;
  EXPECT_NE(step.find("Tensor relu = op::aten_relu(t.input).take();"), std::string::npos) << step;
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

TEST(Project, BodiesStandInPlaceOfOperatorsThatNobodyHas) {
  for (const Language language : {Language::kCpp, Language::kPython}) {
    const Project project = emit_project(bench_with_body(), language, "demo");
    EXPECT_TRUE(project.missing.empty());
    EXPECT_TRUE(project.foreign.empty());
    const bool is_cpp = language == Language::kCpp;
    const std::string& step = project.files.at(is_cpp ? "step_rank0.cpp" : "step_rank0.py");
    EXPECT_NE(step.find(is_cpp ? "op::aten_relu(t.input)" : "ops.aten.relu.default(t.input)"),
              std::string::npos)
        << step;
    EXPECT_EQ(step.find("mine"), std::string::npos) << step;
  }
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
  for (const Language language : {Language::kCpp, Language::kPython}) {
    const Project project = emit_project(bench, language, "demo");
    EXPECT_TRUE(project.missing.empty());
    EXPECT_TRUE(project.foreign.empty());
  }
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
  const Project cpp = emit_project(bench, Language::kCpp, "demo");
  EXPECT_TRUE(cpp.missing.empty());
  EXPECT_TRUE(cpp.foreign.empty());
  ASSERT_EQ(cpp.mapped.size(), 1U);
  EXPECT_EQ(cpp.mapped.front().name, "_C::rms_norm");
  EXPECT_EQ(cpp.mapped.front().reason, "the operator map: aten::rms_norm");
  EXPECT_TRUE(cpp.files.contains("bench/rows.h"));
  const Project python = emit_project(bench, Language::kPython, "demo");
  EXPECT_EQ(python.mapped.size(), 1U);
  const std::string& cpp_step = cpp.files.at("step_rank0.cpp");
  EXPECT_NE(
      cpp_step.find(
          "bench::Operator C_rms_norm(\n"
          "    \"_C::rms_norm(Tensor result, Tensor input, Tensor weight, float epsilon) -> ()\",\n"
          "    bench::row({0, 1, 2, 3},\n"
          "               \"def row(result: Tensor, input: Tensor, weight: Optional[Tensor], "
          "epsilon: "
          "float):\\n\"\n"
          "               \"  result.copy_(torch.rms_norm(input, [input.size(-1)], weight, "
          "epsilon))\\n\"));\n"),
      std::string::npos)
      << cpp_step;
  EXPECT_NE(cpp_step.find("  op::C_rms_norm(t.result, t.input, t.input, 1e-06);"),
            std::string::npos)
      << cpp_step;
  const std::string& python_step = python.files.at("step_rank0.py");
  EXPECT_NE(python_step.find("    C_rms_norm = bench.Operator(\n"), std::string::npos)
      << python_step;
  EXPECT_NE(python_step.find("Named.C_rms_norm(t.result, t.input, t.input, 1e-06)"),
            std::string::npos)
      << python_step;
}

TEST(Project, OperatorsThatNeedALibraryAreNamed) {
  Bench bench = bench_with_body();
  Instruction& op = bench.programs.edit(0).instructions.front();
  op.body.front().results = {{Argument::None{}}};
  const auto reason_of = [&] {
    const Project project = emit_project(bench, Language::kCpp, "demo");
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

TEST(Project, OperatorsAreCalledByTheirRecordedSchema) {
  Bench bench = bench_with_kernel();
  bench.sources.clear();  // as in an obfuscated benchmark
  bench.programs.edit(0).schemas = {"aten::relu(Tensor self, bool in_place=False) -> Tensor"};
  const std::string step = emit_project(bench, Language::kCpp, "demo").files.at("step_rank0.cpp");
  EXPECT_NE(step.find("bench::Operator aten_relu(\n"
                      "    \"aten::relu(Tensor self, bool in_place) -> Tensor\");"),
            std::string::npos)
      << step;
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
  const std::string cpp = emit_project(bench, Language::kCpp, "demo").files.at("step_rank0.cpp");
  EXPECT_NE(cpp.find("op::aten_transpose_in_place(bench::another(t.input), 0, 1)"),
            std::string::npos)
      << cpp;
  const std::string python =
      emit_project(bench, Language::kPython, "demo").files.at("step_rank0.py");
  EXPECT_NE(python.find("ops.aten.transpose_.default(bench.another(t.input), 0, 1)"),
            std::string::npos)
      << python;
}

TEST(Project, StatesHaveTheShareOfZerosThatTheOriginalHad) {
  Bench bench = bench_with_kernel();
  Program& program = bench.programs.edit(0);
  program.schemas = {"aten::relu_(Tensor(a!) self) -> Tensor(a!)"};
  program.instructions.resize(1);
  program.instructions.front().results = program.instructions.front().args;
  program.storages.front().zeros = 0.75;
  const auto text = [&](Language language, const std::string& file) {
    return emit_project(bench, language, "demo").files.at(file);
  };
  const std::string cpp = text(Language::kCpp, "step_rank0.cpp");
  EXPECT_NE(cpp.find("make.zeros({{t.input, 0.75}});"), std::string::npos) << cpp;
  const std::string python = text(Language::kPython, "step_rank0.py");
  EXPECT_NE(python.find("make.zeros([(t.input, 0.75)])"), std::string::npos) << python;
  program.storages.front().bytes = 32;  // more than the tensor: its zeros are not known
  EXPECT_EQ(text(Language::kCpp, "step_rank0.cpp").find("make.zeros"), std::string::npos);
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
  [[nodiscard]] std::string step(Language language) const {
    return emit_project(bench_, language, "demo")
        .files.at(language == Language::kCpp ? "step_rank0.cpp" : "step_rank0.py");
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

/// y = t(relu(x)) four times, of which the last is read.
Bench bench_with_unread_views() {
  Bench bench = bench_with_kernel();
  Program& program = bench.programs.edit(0);
  program.instructions.pop_back();
  program.schemas.emplace_back("aten::t(Tensor(a) self) -> Tensor(a)");
  const Instruction relu = program.instructions.front();
  const et_schema::Slot made = program.slots.back();
  program.instructions.clear();
  for (int i = 0; i < 4; ++i) {
    program.storages.push_back(program.storages.back());
    for (const et_schema::SchemaId schema : {et_schema::SchemaId{0}, et_schema::SchemaId{1}}) {
      Instruction& call = program.instructions.emplace_back(relu);
      call.name = schema == 0 ? "aten::relu" : "aten::t";
      call.schema = schema;
      call.args =
          schema == 0 ? relu.args : std::vector<Argument>{program.instructions.end()[-2].results};
      program.slots.push_back(made);
      program.slots.back().storage = static_cast<et_schema::StorageId>(program.storages.size() - 1);
      call.results = {{Argument::SlotRef{static_cast<SlotId>(program.slots.size() - 1)}}};
    }
  }
  Instruction& reader = program.instructions.emplace_back(relu);
  reader.args = program.instructions.end()[-2].results;
  return bench;
}

TEST(Project, ViewsThatOneCallOfAFunctionNeedsAreGivenBack) {
  const std::string step =
      emit_project(bench_with_unread_views(), Language::kCpp, "demo").files.at("step_rank0.cpp");
  EXPECT_NE(step.find("  Tensor transposed = op::aten_t(relu).take();\n  return transposed;\n"),
            std::string::npos)
      << step;
}

void expect_lines(const std::string& text, const std::vector<std::string>& lines) {
  std::size_t at = 0;
  for (const std::string& line : lines) {
    const std::size_t found = text.find(line, at);
    ASSERT_NE(found, std::string::npos) << line << "\nis not (or not there) in\n" << text;
    at = found + line.size();
  }
}

TEST(Project, TensorsAreNamedByTheirRolesAndListsAreVectors) {
  expect_lines(Training().step(Language::kCpp),
               {"  Tensor weight1;  // float32[64, 64]", "  Tensor bias1;  // float32[64]",
                "  std::vector<Tensor> gradients;  // 4 of those above",
                "  std::vector<Tensor> moments;  // 4\n",
                "  std::vector<Tensor> parameters;  // 4 of those above", "t.moments.resize(4);",
                "t.moments[0] = make.tensor(", "t.gradients = {t.weight_grad1, t.weight_grad2",
                "// forward", "op::aten_foreach_zero_in_place(bench::List(t.gradients));",
                "// backward", "// update", "op::aten_detach(",
                "op::aten_foreach_lerp_in_place_Scalar(bench::List(t.moments), "
                "bench::List(t.gradients), 0.1);",
                "op::aten_foreach_add_in_place_List(bench::List(t.parameters), "
                "bench::List(t.moments), -0.01);"});
  expect_lines(Training().step(Language::kPython),
               {"self.moments = [None] * 4  # 4", "t.parameters = [t.weight1, t.weight2",
                "ops.aten._foreach_add_.List(t.parameters, t.moments, alpha=-0.01)"});
}

TEST(Project, RanksOfOneTextShareAFile) {
  Bench bench = bench_with_kernel();
  bench.programs.push_back(bench.programs.front());
  bench.sources.push_back(bench.sources.front());
  const Project project = emit_project(bench, Language::kCpp, "demo");
  EXPECT_EQ(project.files.count("step_rank0.cpp"), 1U);
  EXPECT_EQ(project.files.count("step_rank1.cpp"), 0U);
  EXPECT_NE(project.files.at("main.cpp").find(".ranks = {make_step_rank0, make_step_rank0}"),
            std::string::npos);
  EXPECT_NE(project.files.at("CMakeLists.txt").find("BENCH_MPI"), std::string::npos);
}

}  // namespace
}  // namespace understudy::emitter
