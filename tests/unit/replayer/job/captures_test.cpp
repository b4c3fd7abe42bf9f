#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/formats/pytorch_et/trace_files.h"
#include "generator/job/generate.h"
#include "replayer/job/replay.h"

namespace understudy::replayer {
namespace {

/// Returns what the report says of coverage.
et_schema::Coverage expect_whole(const std::string& name) {
  const std::string file = std::string(UNDERSTUDY_CAPTURES) + "/" + name + ".json.gz";
  const et_schema::Bench bench = generator::generate(et_schema::read_traces({file}), {});
  const auto backend = backends::make_single_backend({});
  ReplayOptions options;
  options.threads = 1;
  options.iterations = 20;
  RankRun run;
  try {
    run = replay_rank(bench, 0, *backend, options);
  } catch (const et_schema::Error& error) {
    ADD_FAILURE() << et_schema::to_text(error);
    return {};
  }
  EXPECT_EQ(run.report.coverage.count, 1.0);
  EXPECT_GT(run.report.coverage.selected, 0U);
  EXPECT_EQ(run.report.output_mismatches, 0U);
  EXPECT_EQ(run.report.values.nan, 0U);
  EXPECT_EQ(run.report.values.inf, 0U);
  EXPECT_EQ(run.report.values.subnormal, 0U);
  EXPECT_EQ(run.report.iteration_ms.samples.size(), 20U);
  return run.report.coverage;
}

/// Small traces of what is hard about replay, captured on the CPU: see tests/captures/README.md.
class Captures : public ::testing::TestWithParam<const char*> {};

TEST_P(Captures, AreReplayedWhole) {
  expect_whole(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    All, Captures,
    ::testing::Values("adam_variants", "adaptive_softmax", "autocast", "batch_norm",
                      "checkpointing", "contrastive", "conv_variants", "data_dependent",
                      "detection", "diffusion", "double_default", "dropout", "fft_complex", "graph",
                      "grouped_experts", "gru", "ignore_index", "index_ops", "label_with_quote",
                      "lstm", "mixture_of_experts", "nested_jagged", "offsets", "packed_sequences",
                      "per_example", "sdpa", "second_order", "sparse_grad", "speech_ctc",
                      "tangents", "translation", "wrapped_number"),
    [](const auto& capture) { return std::string(capture.param); });

/// None of their libraries is there.
TEST(CustomOperators, AreReplayedByTheOperatorMap) {
  std::vector<std::string> replayed;
  for (const et_schema::NamedCount& row : expect_whole("custom_operators").substituted) {
    replayed.push_back(row.name + " by " + row.note.substr(0, row.note.find(" (")));
  }
  const std::vector<std::string> expected = {
      "_C::fused_add_rms_norm by the operator map: aten::rms_norm",
      "_C::rms_norm by the operator map: aten::rms_norm",
      "_C::rotary_embedding by the operator map: aten::mul",
      "_C::silu_and_mul by the operator map: aten::mul",
      "_C_cache_ops::reshape_and_cache_flash by the operator map: aten::index_put_",
      "_moe_C::moe_sum by the operator map: aten::sum",
      "_moe_C::topk_softmax by the operator map: aten::topk",
      "_vllm_fa2_C::varlen_fwd by the operator map, approximately: aten::_flash_attention_forward",
      "flash_attn::_flash_attn_forward by the operator map: aten::_flash_attention_forward",
      "sgl_kernel::gemma_rmsnorm by the operator map: aten::rms_norm"};
  EXPECT_EQ(replayed, expected);
}

/// All captures of a folder, by name without the folder.
std::vector<std::string> captures_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(UNDERSTUDY_CAPTURES) + "/" + folder)) {
    names.push_back(entry.path().stem().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Each way to ask for an embedding bag: see tests/captures/embedding_bags.py.
class EmbeddingBags : public ::testing::TestWithParam<std::string> {};

TEST_P(EmbeddingBags, AreReplayedWhole) {
  expect_whole("embedding_bag/" + GetParam());
}

TEST(EmbeddingBag, AllCombinationsAreThere) {
  EXPECT_EQ(captures_in("embedding_bag").size(), 28U + 5U);
}

INSTANTIATE_TEST_SUITE_P(All, EmbeddingBags, ::testing::ValuesIn(captures_in("embedding_bag")),
                         [](const auto& capture) { return capture.param; });

}  // namespace
}  // namespace understudy::replayer
