// The text and the csv of reports against whole golden files.

#include "report_text/report_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "et_schema/model/report_fields.h"
#include "et_schema/report/report_json.h"
#include "report_samples.h"

namespace understudy::cli {
namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string golden(const std::string& name) {
  return content_of(std::filesystem::path(UNDERSTUDY_TEST_DATA) / name);
}

TEST(ReportText, OfTwoRanks) {
  EXPECT_EQ(report_to_text(et_schema::sample_report(2)), golden("report_2_ranks.txt"));
}

TEST(ReportText, OfAGpu) {
  et_schema::Report report = et_schema::sample_report(2);
  et_schema::GpuUse& gpu = report.ranks[0].gpu.emplace();
  gpu.memory = {1U << 30U, 1U << 30U, 3U << 29U, 100, 12, 0, 0};
  et_schema::GpuHealth& health = gpu.health.emplace();
  health.name = "A GPU";
  health.before.sm_clock_mhz = 1980;
  health.after.sm_clock_mhz = 1755;
  health.before.temperature_c = 61;
  health.after.temperature_c = 61;
  health.energy_j = 8000;
  health.mean_power_w = 640.5;
  health.window_s = 2.5;
  health.window_iterations = 60;
  health.warnings = {"the SM clock moved from 1980 to 1755 MHz while measuring"};
  report.ranks[1].gpu.emplace().no_health = "no NVML";
  const std::string text = report_to_text(report);
  const std::size_t begin = text.find("\nGPU\n") + 1;
  EXPECT_EQ(
      text.substr(begin, text.find("\n\n", begin) - begin),
      "GPU\n"
      "  rank  GPU         SM MHz  °C  mean W     J              taken over     peak  reserved  "
      "driver allocations\n"
      "     0  A GPU  1980 → 1755  61   640.5  8000  2.500 s, 60 iterations  1.0 GiB   1.5 GiB  "
      "                12\n"
      "     1  –                –   –       –     –                       –      0 B       0 B  "
      "                 0\n"
      "  WARNING rank 0: the SM clock moved from 1980 to 1755 MHz while measuring\n"
      "  rank 1: no NVML");
  health.samples.sm_clock_min_mhz = 1755;
  health.samples.sm_clock_max_mhz = 1980;
  EXPECT_NE(report_to_text(report).find("  A GPU  1755–1980  61   640.5"), std::string::npos);
}

TEST(ReportText, CommunicationIsApartFromWhatIsHeldAgainstTheOriginal) {
  et_schema::Report report = et_schema::sample_report(1);
  report.total.operators.push_back({"c10d::allreduce_", "communication", 4, 3.0, {}, 0.5});
  const std::string text = report_to_text(report);
  EXPECT_NE(text.find("    in operators          7.750   8.500  1.097\n"
                      "    in communication      0.500   3.000      –\n"),
            std::string::npos)
      << text;
  EXPECT_NE(
      text.find("  Communication: of the original until it was issued, of the replay until it "
                "was complete\n"),
      std::string::npos);
}

TEST(ReportText, OfOneRank) {
  EXPECT_EQ(report_to_text(et_schema::sample_report(1)), golden("report_1_rank.txt"));
}

TEST(ReportText, IsMadeFromTheFileAlone) {
  const et_schema::Report report = et_schema::sample_report(3);
  const et_schema::Report read = et_schema::parse_report(et_schema::to_json(report), "report.json");
  EXPECT_EQ(report_to_text(read), report_to_text(report));
  EXPECT_EQ(report_to_csv(read), report_to_csv(report));
}

TEST(ReportText, ShowsAsManyOperatorsAsAskedFor) {
  ReportTextOptions options;
  options.top_operators = 1;
  const std::string text = report_to_text(et_schema::sample_report(1), options);
  EXPECT_NE(text.find("Top 1 of 3 operators, per iteration\n"), std::string::npos);
  EXPECT_EQ(text.find("aten::relu"), std::string::npos);
}

TEST(ReportText, SaysAboveAllFiguresThatThereIsNan) {
  et_schema::Report report = et_schema::sample_report(1);
  report.total.values.nan = 171;
  report.total.value_findings = {{.node = 9, .name = "aten::log", .kind = "inf", .iteration = 1},
                                 {.node = 604, .name = "aten::mm", .kind = "nan", .iteration = 1}};
  const std::string text = report_to_text(report);
  const std::string second = text.substr(text.find('\n') + 1);
  EXPECT_EQ(second.substr(0, second.find('\n')),
            "WARNING: 171 tensors hold NaN, first of node 604 (aten::mm): the step computes with "
            "other numbers than the original, unless that had NaN too");
  report.total.values.nan = 0;
  EXPECT_EQ(report_to_text(report).find("hold NaN"), std::string::npos);
}

TEST(ReportText, OfNothingLeavesOutWhatIsEmpty) {
  EXPECT_EQ(report_to_text(et_schema::merge({et_schema::RankReport()}, {}, {})),
            R"(Replay: 1 rank

Iteration time, ms (0 iterations)
  min  p10  median  p90  p99
    –    –       –    –    –

Coverage: 0 of 0 selected operators replayed, –
  0  exact
  0  substituted: another function did the same work
  0  stubbed: the same bytes in the same time, not counted as replayed
  0  dropped
  0  not applicable to this target (not among the selected)

Memory
  0 B  peak of all tensors
  0 B  peak of intermediates by their lifetimes
  0 B  made before the step, touched bytes only

Checks
  0  of 0 outputs differ from the recorded shape, dtype or stride
  0  tensors with NaN
  0  tensors with infinities
  0  tensors with subnormal numbers
)");
}

TEST(ReportCsv, OfTwoRanks) {
  EXPECT_EQ(report_to_csv(et_schema::sample_report(2)), golden("report_2_ranks.csv"));
}

using Json = nlohmann::ordered_json;

/// Each number and text of a report gets one of its own, by which it is found again.
class Numbered {
 public:
  explicit Numbered(Json& report) {
    for (auto& [key, value] : report.items()) {
      if (key == "ranks") {
        for (Json& rank : value) {
          prefix_ = std::to_string(rank["rank"].get<int>()) + ",";
          number_members(rank);
        }
        prefix_ = "all,";
      } else if (key != "format" && key != "version" && key != "world_size") {
        number(value, key);
      }
    }
  }

  struct Leaf {
    std::string path, prefix, mark;
  };
  [[nodiscard]] const std::vector<Leaf>& leaves() const { return leaves_; }

 private:
  void number_members(Json& object) {
    for (auto& [key, value] : object.items()) {
      if (key != "rank") {
        number(value, key);
      }
    }
  }

  void number(Json& value, const std::string& path) {
    if (value.is_structured()) {
      EXPECT_FALSE(value.empty()) << path << ": the sample report shows nothing of it";
      for (auto& [key, below] : value.items()) {
        number(below, path + "." + key);
      }
      return;
    }
    if (value.is_boolean()) {
      return;  // there are but two of them; the golden files show them
    }
    const std::uint64_t id = kFirst + leaves_.size();
    const std::string mark = std::to_string(id);
    const bool is_text = value.is_string();
    value = is_text ? Json("text-" + mark) : Json(id);
    leaves_.push_back({path, prefix_, mark});
  }

  static constexpr std::uint64_t kFirst = 1'000'001;
  std::string prefix_ = "all,";
  std::vector<Leaf> leaves_;
};

TEST(ReportCsv, HoldsEachFigureOfTheJson) {
  std::vector<et_schema::RankReport> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    et_schema::RankReport& full = ranks.emplace_back(et_schema::sample_rank_report(rank));
    full.gpu = et_schema::sample_gpu_use();
    full.mismatches = {{35, "aten::sort", "stride", "[1, 16]", "[16, 1]"}};
    full.value_findings = {{36, "aten::log", "inf"}};
    full.operators.resize(1);
    full.coverage.time = 0.75;
    full.coverage.other_time = {{"opened operators", 0.25}};
    full.operators[0].device_ms = 2.5;
    full.operators[0].device_samples_ms = {2.5, 2.75};
    full.operators[0].recorded_device_ms = 2.25;
    full.collectives.resize(1);
    full.collectives[0].samples_us = {240, 250};
    full.collectives[0].moving_samples_us = {200, 210};
  }
  const et_schema::Environment environment = et_schema::sample_report(2).environment;
  const et_schema::Report report =
      et_schema::merge(std::move(ranks), {"--only compute"}, environment);
  Json json = Json::parse(et_schema::to_json(report));
  const Numbered numbered(json);
  const et_schema::Report read = et_schema::parse_report(json.dump(), "report.json");
  ASSERT_EQ(Json::parse(et_schema::to_json(read)), json);
  std::istringstream csv(report_to_csv(read));
  std::vector<std::string> lines;
  for (std::string line; std::getline(csv, line);) {
    lines.push_back(line);
  }
  for (const Numbered::Leaf& leaf : numbered.leaves()) {
    EXPECT_TRUE(std::ranges::any_of(lines, [&](const std::string& line) {
      return line.starts_with(leaf.prefix) && line.find(leaf.mark) != std::string::npos;
    })) << leaf.path;
  }
}

TEST(ReportCsv, LeavesWhatIsNotKnownEmpty) {
  const std::string csv = report_to_csv(et_schema::merge({et_schema::RankReport()}, {}, {}));
  EXPECT_NE(csv.find("all,coverage,,,count,\n"), std::string::npos);
  EXPECT_EQ(csv.find("nan,nan"), std::string::npos);
}

TEST(ReportFields, EachRowOfTheTablesIsInTheDocsAndTheCsv) {
  std::vector<std::string> keys;
  const auto add = [&](const auto& rows) {
    for (const auto& row : rows) {
      keys.emplace_back(row.key);
    }
  };
  add(et_schema::kCoverageLists);
  add(et_schema::kCounterFigures);
  add(et_schema::kPaceCounts);
  add(et_schema::kPaceFigures);
  add(et_schema::kOutputCounts);
  add(et_schema::kValueCounts);
  add(et_schema::kMemoryCounts);
  add(et_schema::kMeasurementCounts);
  add(et_schema::kOriginalFigures);
  add(et_schema::kOverheadFigures);
  add(et_schema::kStartFigures);
  const std::string formats = content_of(std::filesystem::path(UNDERSTUDY_DOCS) / "formats.md");
  const std::string metrics = content_of(std::filesystem::path(UNDERSTUDY_DOCS) / "metrics.md");
  const std::string csv = report_to_csv(et_schema::sample_report(2));
  for (const std::string& key : keys) {
    EXPECT_NE(formats.find("`" + key + "`"), std::string::npos) << key;
    EXPECT_NE(metrics.find("`" + key + "`"), std::string::npos) << key;
    EXPECT_NE(csv.find(key + ","), std::string::npos) << key;
  }
}

TEST(ReportFields, EachCounterIsInTheText) {
  et_schema::Report report = et_schema::sample_report(2);
  for (const auto& row : et_schema::kCounterFigures) {
    report.total.counters.*row.value = 12;
  }
  const std::string text = report_to_text(report);
  for (const auto& row : et_schema::kCounterFigures) {
    const std::string unit(et_schema::unit_of(row.key));
    EXPECT_NE(text.find("12.00" + (unit.empty() ? "" : " " + unit) + "  " + row.text + "\n"),
              std::string::npos)
        << row.key;
  }
}

}  // namespace
}  // namespace understudy::cli
