// Program → Chakra → Program: what comes back as it was, and what is left out by name.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "cli/compile/compile.h"
#include "generator/chakra/chakra_job.h"
#include "program_differences.h"
#include "testing/temporary_folder.h"

namespace understudy::generator {
namespace {

using et_schema::Bench;

const std::string kSamples = UNDERSTUDY_SAMPLES;

Bench compile(const std::string& input, const std::optional<std::string>& step = {}) {
  cli::Progress progress;
  progress.silence();
  return cli::compile_traces({input}, {.step = step, .partial = PartialRanks::kOneAlone}, {},
                             progress)
      .bench;
}

/// Through the bytes of files in a folder, as a user would.
Bench read_back(const ChakraJob& job, const std::string& folder) {
  for (const et_schema::ChakraFile& file : job.files) {
    std::ofstream(std::filesystem::path(folder) / file.file, std::ios::binary)
        << et_schema::chakra_bytes(file);
  }
  return compile(folder);
}

/// What may differ, and which counter of what is left out tells of it. Fields that no counter
/// names come back as they were.
const std::map<std::string, std::optional<ChakraLoss>> kMayDiffer = {
    {"instruction.node_id", std::nullopt},  // numbered anew; origin_node has the old one
    {"instruction.body", ChakraLoss::kBodies},
    {"label.args", ChakraLoss::kNativeInputs},
    {"label.schema", ChakraLoss::kNativeInputs},
    {"slot.value", ChakraLoss::kValueRules},
    {"slot.value (Python number)", ChakraLoss::kWrapped},
    {"slot.content", ChakraLoss::kSparse},
    {"storage.held_until", ChakraLoss::kHeld},
    {"storage.state", ChakraLoss::kState},
    {"storage.zeros", ChakraLoss::kZeros},
    {"storage.pinned", ChakraLoss::kPinned},
    {"heap_blocks", ChakraLoss::kHeapBlocks},
    {"profile.operators_ns", ChakraLoss::kProfile},  // with the own time of opened operators
};

class ChakraRoundTrip : public testing::TestWithParam<std::string> {};

TEST_P(ChakraRoundTrip, KeepsWhatChakraCanSay) {
  const Bench before = compile(kSamples + "/" + GetParam());
  const ChakraJob job = chakra_of(before, "chakra");
  const testing_files::TemporaryFolder folder;
  const Bench after = read_back(job, folder.path());
  ASSERT_EQ(before.programs.size(), after.programs.size());
  for (std::size_t rank = 0; rank < before.programs.size(); ++rank) {
    std::string unexplained;
    const std::map<ChakraLoss, std::uint64_t> left_out = chakra_losses(before.programs[rank]);
    for (const auto& [field, count] :
         test::differences(before.programs[rank], after.programs[rank])) {
      const auto known = kMayDiffer.find(field);
      const bool is_counted =
          known != kMayDiffer.end() && (!known->second || left_out.contains(*known->second));
      unexplained += is_counted ? "" : field + " differs " + std::to_string(count) + " times\n";
    }
    EXPECT_EQ(unexplained, "") << "rank " << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Samples, ChakraRoundTrip,
    testing::Values("compiled", "compiled_optimizer", "dlrm_8gpu/dlrm_pytorch_et.tar.gz",
                    "dlrm_dense", "dlrm_sparse", "embedding_uniform", "embedding_zipf",
                    "gpt_adamw_foreach", "gpt_adamw_fused", "gpt_ddp", "gpt_ddp_gloo",
                    "linear/linear_et.json.gz", "mlp", "resnet18",
                    "resnet_ddp/resnet_1gpu_et_1.0.3.json.gz",
                    "resnet_ddp/resnet_1gpu_et_1.1.1.json.tar.gz", "speech_encoder"),
    [](const testing::TestParamInfo<std::string>& sample) {
      std::string name = sample.param;
      std::ranges::replace_if(
          name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
      return name;
    });

}  // namespace
}  // namespace understudy::generator
