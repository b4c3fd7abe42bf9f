#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "et_schema/base/error.h"
#include "predictor/platform/fit_sections.h"
#include "predictor/platform/platform_costs.h"
#include "synthetic.h"
#include "testing/error_text.h"
#include "testing/temporary_folder.h"

namespace understudy::predictor {
namespace {

std::vector<CollectiveRow> rows_of_all_reduce() {
  std::vector<CollectiveRow> rows;
  for (std::int64_t bytes = 1024; bytes <= 1 << 24; bytes *= 4) {
    for (const int ranks : {2, 4}) {
      rows.push_back({et_schema::CommKind::kAllReduce, bytes, ranks, 1, true,
                      et_schema::DType::kFloat32, 1e4 * ranks + static_cast<double>(bytes), 0, 5,
                      "made up"});
    }
  }
  return rows;
}

std::vector<EmbeddingRow> rows_of_embedding() {
  std::vector<EmbeddingRow> rows;
  for (int i = 0; i < 30; ++i) {
    for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
      rows.push_back({{{{.rows = 100 << i % 9, .dim = 8 << i % 4, .pooling = 1.0 + i % 5}},
                       64 << i % 3,
                       direction},
                      5000.0 + 100 * (i % 5),
                      2,
                      3,
                      "made up"});
    }
  }
  return rows;
}

SectionRows rows_of(const std::string& text) {
  SectionRows rows;
  EXPECT_TRUE(add_section_file({"rows", text}, rows));
  return rows;
}

TEST(Sections, FilesAreToldByTheirContent) {
  EXPECT_EQ(rows_of(to_json_lines(rows_of_all_reduce())).collectives.size(), 16U);
  EXPECT_EQ(rows_of(to_json_lines(rows_of_embedding())).embeddings.size(), 60U);
  SectionRows none;
  EXPECT_FALSE(add_section_file({"a.csv", "OPName,Latency (ms)\n"}, none));
  EXPECT_FALSE(add_section_file({"a.json", "{\"format\":\"understudy-report\"}"}, none));
  EXPECT_TRUE(none.empty());
}

TEST(Sections, OtherFilesAreLeftToOthers) {
  const testing_files::TemporaryFolder folder;
  const std::string rows = folder.path() + "/rows.jsonl";
  const std::string table = folder.path() + "/table.csv";
  std::ofstream(rows) << to_json_lines(rows_of_all_reduce());
  std::ofstream(table) << "OPName,Latency (ms)\n";
  SectionRows read;
  EXPECT_EQ(take_section_files({table, rows}, read), (std::vector<std::string>{table}));
  EXPECT_EQ(read.collectives.size(), 16U);
}

TEST(Sections, AFolderMayHoldAllKinds) {
  const testing_files::TemporaryFolder folder;
  const std::string table = folder.path() + "/a/table.csv";
  std::filesystem::create_directory(folder.path() + "/a");
  std::ofstream(table) << "OPName,Latency (ms)\n";
  std::ofstream(folder.path() + "/a/README.md") << "# What these are\n";
  SectionRows read;
  EXPECT_EQ(take_section_files({folder.path()}, read), (std::vector<std::string>{folder.path()}))
      << "tables alone are read as a folder";
  EXPECT_TRUE(read.left_out.empty());
  std::ofstream(folder.path() + "/rows.txt") << to_json_lines(rows_of_all_reduce());
  EXPECT_EQ(take_section_files({folder.path()}, read), (std::vector<std::string>{table}));
  EXPECT_EQ(read.collectives.size(), 16U);
  EXPECT_EQ(read.left_out,
            (std::map<std::string, std::uint64_t>{{"files that are no measurements", 1}}));
}

TEST(Sections, AProfileTellsItsHost) {
  SectionRows rows;
  EXPECT_TRUE(take_section_files(
                  {std::string(UNDERSTUDY_PROFILES) + "/resnet_2gpu_kineto_rank0.json.gz"}, rows)
                  .empty());
  EXPECT_EQ(rows.left_out.at("communication of ranks of which some have no profile here"), 21U);
  const FittedSections sections = fit_sections(rows);
  ASSERT_TRUE(sections.json.contains("overheads"));
  Platform platform;
  platform.sections = sections.json;
  platform.operators.add_card(synthetic::card("A"));
  const PlatformCosts costs(platform, {"A", 1});
  EXPECT_TRUE(costs.knows_host());
  et_schema::Program program;
  et_schema::Instruction instruction;
  instruction.name = "aten::conv2d";
  EXPECT_GT(costs.of_gap(program, instruction).ns, 0);
  EXPECT_EQ(costs.of_operator(program, instruction).host.model, "host overheads");
  instruction.name = "aten::add_.Tensor";
  EXPECT_TRUE(costs.of_operator(program, instruction).host.modelled);
  instruction.name = "aten::unheard_of";
  EXPECT_FALSE(costs.of_operator(program, instruction).host.modelled);
  instruction.timing = et_schema::Timing{.host_ns = 77, .gap_ns = 7};
  EXPECT_NE(costs.of_operator(program, instruction).host.ns, 77) << "of a step without a device";
  program.profile.emplace().device_events = 1;
  EXPECT_EQ(costs.of_operator(program, instruction).host.ns, 77);
  EXPECT_NE(costs.of_gap(program, instruction).ns, 7) << "RecordedCosts' to tell";
}

TEST(Sections, ModelsAreListedWithTheirErrors) {
  SectionRows rows;
  rows.collectives = rows_of_all_reduce();
  rows.embeddings = rows_of_embedding();
  const FittedSections sections = fit_sections(rows);
  ASSERT_EQ(sections.models.size(), 3U);
  EXPECT_EQ(sections.models[0].covers, "allreduce float32 on a device, 1 node, 2 4 ranks");
  EXPECT_EQ(sections.models[0].rows, 16U);
  EXPECT_EQ(sections.models[0].left_out.n, 12U);
  EXPECT_EQ(sections.models[1].section, "embeddings");
  Platform platform;
  platform.sections = sections.json;
  const Estimate answer =
      estimate(collectives_of(platform), {{.kind = et_schema::CommKind::kAllReduce,
                                           .bytes = 1 << 20,
                                           .ranks = 2,
                                           .nodes = 1,
                                           .on_device = true}});
  EXPECT_NEAR(answer.ns, 2e4 + (1 << 20), 1);
}

TEST(Sections, TheHostTellsWhatAPageFaultTakes) {
  Platform platform;
  EXPECT_FALSE(page_fault_ns(platform));
  platform.sections["host"] = R"({"page_fault_ns":1684.5})";
  EXPECT_EQ(page_fault_ns(platform), 1684.5);
  platform.sections["host"] = R"({"page_fault_ns":-1})";
  EXPECT_THROW(static_cast<void>(page_fault_ns(platform)), et_schema::Error);
}

TEST(Sections, ADamagedOneIsRefused) {
  Platform platform;
  platform.sections["collectives"] = "{}";
  EXPECT_EQ(testing_errors::error_of([&] { return collectives_of(platform); }) + "\n",
            "the platform cannot be read\n"
            "  file:     sections.collectives\n"
            "  field:    series\n"
            "  expected: this key\n"
            "  got:      none\n"
            "  hint:     make the file again with `calibrate`\n");
}

}  // namespace
}  // namespace understudy::predictor
