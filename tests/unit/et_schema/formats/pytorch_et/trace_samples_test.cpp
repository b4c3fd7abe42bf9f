// The shared samples and the captures of every era: what is in them is known.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "et_schema/formats/pytorch_et/comm_calls.h"
#include "et_schema/formats/pytorch_et/trace_files.h"

namespace understudy::et_schema {
namespace {

std::uint64_t count_operators(const Trace& trace) {
  std::uint64_t operators = 0;
  for (const Node& node : trace.nodes) {
    const NodeClass node_class = classify(node);
    operators += node_class == NodeClass::kOperator || node_class == NodeClass::kKernel ? 1U : 0U;
  }
  for (const auto& [name, count] : count_collectives(communication_calls(trace))) {
    operators += count;
  }
  return operators;
}

/// Compares one rank with its entry of a manifest's "counts".
void expect_counts(const Trace& trace, const nlohmann::json& counts, const std::string& where) {
  EXPECT_EQ(trace.schema, counts.at("schema")) << where;
  EXPECT_EQ(trace.nodes.size(), counts.at("nodes")) << where;
  EXPECT_EQ(count_operators(trace), counts.at("operators")) << where;
  const auto collectives = counts.at("collectives").get<std::map<std::string, std::uint64_t>>();
  EXPECT_EQ(count_collectives(communication_calls(trace)), collectives) << where;
}

/// The traces of a sample by the base name of their file, and by rank where the folder is one job.
std::map<std::string, Trace> traces_by_name(const std::filesystem::path& folder,
                                            const nlohmann::json& manifest) {
  std::map<std::string, Trace> traces;
  for (const nlohmann::json& file : manifest.at("files")) {
    const auto name = file.at("name").get<std::string>();
    if (!name.ends_with(".gz") || name.find("kineto") != std::string::npos ||
        name.find("indices") != std::string::npos || name.find(".faults.") != std::string::npos) {
      continue;
    }
    for (Trace& trace : read_traces({(folder / name).string()})) {
      traces.emplace(std::filesystem::path(trace.file).filename().string(), std::move(trace));
    }
  }
  return traces;
}

TEST(Samples, CountsAreThoseOfTheManifests) {
  std::size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(UNDERSTUDY_SAMPLES)) {
    const std::filesystem::path manifest_path = entry.path() / "manifest.json";
    if (!std::filesystem::exists(manifest_path)) {
      continue;
    }
    std::ifstream stream(manifest_path);
    const nlohmann::json manifest = nlohmann::json::parse(stream);
    const std::map<std::string, Trace> traces = traces_by_name(entry.path(), manifest);
    for (const nlohmann::json& counts : manifest.at("counts")) {
      const std::filesystem::path file = counts.value(
          "file", "rank-" + std::to_string(counts.at("rank").get<int>()) + ".et.json.gz");
      const std::string name = file.filename().string();
      const auto found = traces.find(name);
      ASSERT_NE(found, traces.end()) << entry.path() << " " << name;
      expect_counts(found->second, counts, entry.path().filename().string() + "/" + name);
      ++compared;
    }
  }
  EXPECT_GE(compared, 10U);
}

TEST(Samples, TheNumbersOfTheContract) {
  const std::string samples = UNDERSTUDY_SAMPLES;
  EXPECT_EQ(read_traces({samples + "/linear/linear_et.json.gz"})[0].nodes.size(), 931U);
  const Trace resnet =
      std::move(read_traces({samples + "/resnet_ddp/resnet_1gpu_et_1.0.3.json.gz"})[0]);
  EXPECT_EQ(resnet.nodes.size(), 14391U);
  EXPECT_EQ(count_operators(resnet), 10824U);
  const std::vector<Trace> dlrm = read_traces({samples + "/dlrm_8gpu/dlrm_pytorch_et.tar.gz"});
  ASSERT_EQ(dlrm.size(), 8U);
  for (const Trace& trace : dlrm) {
    EXPECT_EQ(trace.nodes.size(), 1675U);
    EXPECT_EQ(count_operators(trace), 1490U);
  }
}

TEST(Samples, EveryCaptureIsRead) {
  std::size_t read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(UNDERSTUDY_CAPTURES)) {
    if (entry.path().extension() == ".gz") {
      const Trace trace = std::move(read_traces({entry.path().string()})[0]);
      EXPECT_EQ(trace.losses[Loss::kTruncatedFiles], 0U) << entry.path();
      EXPECT_EQ(trace.losses[Loss::kUnknownDtypes], 0U) << entry.path();
      ++read;
    }
  }
  EXPECT_GE(read, 10U);
}

TEST(Samples, LabelWithQuoteOfARealCapture) {
  const Trace trace =
      std::move(read_traces({std::string(UNDERSTUDY_CAPTURES) + "/label_with_quote.json.gz"})[0]);
  EXPECT_EQ(trace.losses[Loss::kRepairedJson], 3U);
}

}  // namespace
}  // namespace understudy::et_schema
