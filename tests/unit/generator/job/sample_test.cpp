// Selection on real traces: the numbers of the design, and what must hold for every sample.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "et_schema/formats/pytorch_et/trace_files.h"
#include "et_schema/model/comm_traits.h"
#include "et_schema/model/open_comms.h"
#include "generator/flow/model_names.h"
#include "generator/job/generate.h"

namespace understudy::generator {
namespace {

using et_schema::Bench;

Bench sample(const std::string& path) {
  return generate(et_schema::read_traces({std::string(UNDERSTUDY_SAMPLES) + "/" + path}), {});
}

TEST(Samples, Linear) {
  const Program program = sample("linear/linear_et.json.gz").programs[0];
  EXPECT_EQ(program.selection.operators, 321U);
  ASSERT_EQ(program.selection.opened.size(), 3U);
  EXPECT_EQ(program.selection.opened[0].name, "aten::cross_entropy_loss");
}

TEST(Samples, FirstStepOfResnet) {
  for (const char* path :
       {"resnet_ddp/resnet_1gpu_et_1.0.3.json.gz", "resnet_ddp/resnet_1gpu_et_1.1.1.json.tar.gz"}) {
    const Program program = sample(path).programs[0];
    EXPECT_EQ(program.selection.operators, 1241U) << path;
    EXPECT_EQ(program.selection.opened[0].name, "aten::batch_norm");
    EXPECT_EQ(program.selection.opened[0].count, 53U);
  }
}

TEST(Samples, EveryRankOfDlrm) {
  const Bench bench = sample("dlrm_8gpu/dlrm_pytorch_et.tar.gz");
  ASSERT_EQ(bench.world_size(), 8);
  for (const Program& program : bench.programs) {
    EXPECT_EQ(program.selection.operators, 650U);
    EXPECT_EQ(program.selection.labels, 2U);
    EXPECT_EQ(program.losses[et_schema::Loss::kUnmatchedWaits], 2U);
  }
}

TEST(Samples, ReductionsHaveTheOperatorsThatTheProgramAskedFor) {
  // tests/captures/collectives.py, in its order.
  const std::string asked =
      "allreduce sum, allreduce max, allreduce sum, reduce sum, reduce_scatter sum, "
      "_reduce_scatter_base sum, allreduce_coalesced sum, allreduce avg, allreduce min, "
      "reduce_scatter_tensor_coalesced max, _reduce_scatter_base avg, allreduce sum, ";
  const std::string folder = std::string(UNDERSTUDY_CAPTURES) + "/nccl_form_collectives";
  for (const Program& program : generate(et_schema::read_traces({folder}), {}).programs) {
    EXPECT_EQ(program.losses[et_schema::Loss::kAssumedReduceOps], 0U);
    std::string replayed;
    for (const Instruction& instruction : program.instructions) {
      if (instruction.comm && et_schema::traits(instruction.comm->kind).reduces) {
        replayed += instruction.name + " " + instruction.comm->reduce_op + ", ";
      }
    }
    EXPECT_EQ(replayed, asked);
  }
}

/// Communications by name and group, as tests/captures/parallel.py issues them on each rank.
struct IssuedCase {
  const char* capture;
  std::map<std::string, int> calls;
};

TEST(Samples, StepsDividedAmongRanksHaveTheCommunicationsThatTheirProgramsIssue) {
  const std::vector<IssuedCase> cases = {
      {"fsdp2", {{"_allgather_base", 4}, {"_reduce_scatter_base", 2}}},
      {"tensor_parallel", {{"allreduce", 4}}},
      {"pipeline", {{"send", 4}, {"recv", 4}}},
      {"experts", {{"all_to_all", 1}, {"all_to_allv", 3}}},
      {"context_ring", {{"send", 1}, {"recv", 1}}}};
  for (const IssuedCase& issued : cases) {
    const std::string folder = std::string(UNDERSTUDY_CAPTURES) + "/" + issued.capture;
    for (const Program& program : generate(et_schema::read_traces({folder}), {}).programs) {
      std::map<std::string, int> calls;
      for (const Instruction& instruction : program.instructions) {
        if (et_schema::is_communication(instruction)) {
          ++calls[instruction.name];
          EXPECT_EQ(instruction.comm->group, 0U) << issued.capture;
        }
      }
      EXPECT_EQ(calls, issued.calls) << issued.capture;
      EXPECT_EQ(program.losses[et_schema::Loss::kAssumedReduceOps], 0U) << issued.capture;
      EXPECT_EQ(program.losses[et_schema::Loss::kUnmatchedWaits], 0U) << issued.capture;
    }
  }
}

/// Each slot that an instruction reads is external, or was written by an instruction before; and no
/// external slot lies on memory that an instruction began.
void check_flow(const Program& program, const std::string& name) {
  std::set<et_schema::SlotId> defined;
  std::set<et_schema::StorageId> begun;
  for (const Instruction& instruction : program.instructions) {
    et_schema::for_each_slot(instruction.args, [&](et_schema::SlotId id) {
      EXPECT_TRUE(program.slots[id].external || defined.contains(id))
          << name << ": node " << instruction.node_id << " reads slot " << id
          << " before it is written";
    });
    et_schema::for_each_slot(instruction.results, [&](et_schema::SlotId id) {
      defined.insert(id);
      if (!program.storages[program.slots[id].storage].external) {
        begun.insert(program.slots[id].storage);
      }
    });
  }
  for (const et_schema::Slot& slot : program.slots) {
    EXPECT_FALSE(slot.external && begun.contains(slot.storage)) << name;
    EXPECT_FALSE(slot.external && !program.storages[slot.storage].external) << name;
  }
}

TEST(Samples, NothingIsReadBeforeItIsWritten) {
  GenerateOptions options;
  options.partial = PartialRanks::kAllowed;
  int checked = 0;
  for (const char* root : {UNDERSTUDY_SAMPLES, UNDERSTUDY_CAPTURES}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      const std::string path = entry.path().string();
      const bool is_trace = path.find("kineto") == std::string::npos &&
                            path.find("indices") == std::string::npos &&
                            path.find(".faults.") == std::string::npos &&
                            path.find(".compiled.") == std::string::npos &&
                            (path.ends_with(".json.gz") || path.ends_with("et.tar.gz") ||
                             path.ends_with("json.tar.gz"));
      if (!is_trace) {
        continue;
      }
      for (const Program& program : generate(et_schema::read_traces({path}), options).programs) {
        check_flow(program, path);
        ++checked;
      }
    }
  }
  EXPECT_GE(checked, 40);
}

std::vector<Instruction> kernels_of(const std::string& name) {
  const Bench bench = sample(name);
  std::vector<Instruction> kernels;
  for (const Instruction& instruction : bench.programs[0].instructions) {
    if (instruction.kind == et_schema::InstructionKind::kKernel) {
      kernels.push_back(instruction);
    }
  }
  return kernels;
}

TEST(Samples, CompiledGraphsShowTheirKernels) {
  const std::vector<Instruction> eager_update = kernels_of("compiled");
  const std::vector<Instruction> fused_update = kernels_of("compiled_optimizer");
  EXPECT_EQ(fused_update.size(), eager_update.size() + 1) << "one kernel updates all parameters";
  for (const Instruction& kernel : fused_update) {
    EXPECT_TRUE(kernel.name.starts_with("cpp_fused_")) << kernel.name;
    EXPECT_TRUE(std::holds_alternative<std::string>(kernel.args.back().value)) << kernel.name;
  }
}

TEST(Samples, TheSameInputGivesTheSameBenchmark) {
  EXPECT_EQ(sample("gpt_adamw_fused"), sample("gpt_adamw_fused"));
}

}  // namespace
}  // namespace understudy::generator
