#include <gtest/gtest.h>

#include "emitter/source/emit.h"

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
  for (int i = 0; i < 2; ++i) {
    et_schema::Storage storage;
    storage.external = i == 0;
    storage.bytes = 16;
    program.storages.push_back(storage);
    et_schema::Slot slot;
    slot.storage = static_cast<et_schema::StorageId>(i);
    slot.external = i == 0;
    slot.dtype = et_schema::DType::kFloat32;
    slot.sizes = {4};
    slot.strides = {1};
    program.slots.push_back(slot);
  }
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
  EXPECT_EQ(project.missing.front().reason, "a compiled kernel: the trace does not hold its code");
  EXPECT_EQ(project.missing.front().count, 1U);
  EXPECT_DOUBLE_EQ(project.missing.front().time_share.value_or(0), 0.25);
  EXPECT_EQ(project.operators, 2U);
  const std::string& step = project.files.at("step_rank0.cpp");
  EXPECT_NE(step.find("// triton_poi_0 is left out: a compiled kernel"), std::string::npos) << step;
  EXPECT_NE(step.find("Tensor relu = at::relu(t.input);"), std::string::npos) << step;
}

TEST(Project, OperatorsOfAnotherSchemaAreCalledByName) {
  Bench bench = bench_with_kernel();
  bench.sources.clear();  // as in an obfuscated benchmark
  EXPECT_EQ(emit_project(bench, Language::kCpp, "demo").boxed, 0U);
  bench.programs.front().schemas = {"aten::relu(Tensor self, bool in_place=False) -> Tensor"};
  const Project project = emit_project(bench, Language::kCpp, "demo");
  EXPECT_EQ(project.boxed, 1U);
  const std::string& step = project.files.at("step_rank0.cpp");
  EXPECT_NE(step.find("bench::Operator aten_relu(\n"
                      "    \"aten::relu(Tensor self, bool in_place) -> Tensor\");"),
            std::string::npos)
      << step;
}

TEST(Project, StatesHaveTheShareOfZerosThatTheOriginalHad) {
  Bench bench = bench_with_kernel();
  Program& program = bench.programs.front();
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
