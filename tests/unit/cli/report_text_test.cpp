// The text of a report against a whole golden file; that text, page and csv have the same figures.

#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <type_traits>
#include <vector>

#include "cli/pages/report/report_page.h"
#include "et_schema/formats/report/report_json.h"
#include "et_schema/model/report_figures.h"
#include "report_samples.h"

namespace understudy::pages {
namespace {

std::string report_to_text(const et_schema::Report& report) {
  return written(report_page(report), cli::Format::kText);
}

std::string report_to_csv(const et_schema::Report& report) {
  return written(report_page(report), cli::Format::kCsv);
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ReportText, OfTwoRanks) {
  const std::filesystem::path path =
      std::filesystem::path(UNDERSTUDY_TEST_DATA) / "report_2_ranks.txt";
  const std::string text = report_to_text(et_schema::sample_report(2));
  if (std::getenv("UNDERSTUDY_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
  }
  EXPECT_EQ(text, content_of(path));
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
  const std::size_t begin = text.find("\nGPUs, ") + 1;
  EXPECT_EQ(text.substr(begin, text.find("\n\n", begin) - begin),
            "GPUs, around iterations with nothing between them\n"
            "  rank  SM MHz  SM MHz after     °C  °C after  mean W     J      s  iterations     "
            "peak  reserved"
            "  driver allocations  GPU\n"
            "     0    1980          1755  61.00     61.00   640.5  8000  2.500          60  1.0 "
            "GiB   1.5 GiB"
            "                  12  A GPU\n"
            "     1       –             –      –         –       –     –      –           –      0 "
            "B       0 B"
            "                   0  –\n"
            "  rank 1: no NVML");
  health.samples.sm_clock_min_mhz = 1755;
  health.samples.sm_clock_max_mhz = 1980;
  EXPECT_NE(report_to_text(report).find("  least SM MHz  most SM MHz  "), std::string::npos);
}

TEST(ReportText, CommunicationIsApartFromWhatIsHeldAgainstTheOriginal) {
  et_schema::Report report = et_schema::sample_report(1);
  report.total.operators.push_back({"c10d::allreduce_", "communication", 4, 3.0, {}, 0.5});
  const std::string text = report_to_text(report);
  EXPECT_NE(text.find("     7.750   8.500  1.097  of these, no communication\n"
                      "     0.500   3.000      –  of these, communication\n"),
            std::string::npos)
      << text;
  EXPECT_NE(
      text.find("  Communication: of the original until it was issued, of the replay until it was "
                "complete.\n"),
      std::string::npos);
}

/// The section of a merged report of one rank with these counters, from the first line about them.
std::string counters_text(et_schema::Counters recorded) {
  et_schema::RankReport rank = et_schema::sample_rank_report(0);
  rank.counters["dram_bytes"] = 1.5e9;
  rank.original.counters = std::move(recorded);
  const std::string text = report_to_text(et_schema::merge({rank}, {}, {}));
  const std::size_t begin = text.find("separate timing passes");
  const std::size_t line = text.find('\n', begin) + 1;
  return text.substr(line, text.find("\n\n", line) - line);
}

TEST(ReportText, CountersStandBesideTheOriginals) {
  EXPECT_EQ(counters_text({{"cpu_ms", 19.5}, {"dram_bytes", 1.2e9}, {"flop", 1}}),
            "\n"
            "Counters against the original (A), an iteration; no class: the whole step\n"
            "           A           B  B ÷ A  counter     class  verdict\n"
            "       19.50       20.00  1.026  cpu_ms      –      SAME\n"
            "  1200000000  1500000000  1.250  dram_bytes  –      MORE");
}

TEST(ReportText, SaysHowToRecordCountersOfTheOriginal) {
  EXPECT_EQ(counters_text({}),
            "  The original's counters are not known: capture --counters records them, generate "
            "--counters reads them from profilers' files.");
  EXPECT_EQ(counters_text({{"flop", 1}}),
            "  The replay counted none of the original's counters: see replay --counters.");
}

TEST(ReportText, OfOneRank) {
  const std::string text = report_to_text(et_schema::sample_report(1));
  EXPECT_NE(text.find("\n1 rank, cpu, A CPU"), std::string::npos) << text;
  EXPECT_NE(text.find("\nMemory\n"), std::string::npos) << text;
  for (const char* const of_several : {"\nRanks\n", "slowest", "largest rank", "all ranks"}) {
    EXPECT_EQ(text.find(of_several), std::string::npos) << of_several;
  }
}

TEST(ReportText, IsMadeFromTheFileAlone) {
  const et_schema::Report report = et_schema::sample_report(3);
  const et_schema::Report read = et_schema::parse_report(et_schema::to_json(report), "report.json");
  EXPECT_EQ(report_to_text(read), report_to_text(report));
  EXPECT_EQ(report_to_csv(read), report_to_csv(report));
}

TEST(ReportText, ShowsTheOperatorsThatTakeLongest) {
  et_schema::Report report = et_schema::sample_report(1);
  report.total.operators.resize(16, {"aten::last", "copy", 1, 0.25});
  const std::string text = report_to_text(report);
  EXPECT_NE(text.find("aten::mm"), std::string::npos);
  EXPECT_NE(text.find("  … 1 more\n"), std::string::npos);
}

TEST(ReportText, SaysAboveAllFiguresThatThereIsNan) {
  et_schema::Report report = et_schema::sample_report(1);
  report.total.values.nan = 171;
  report.total.value_findings = {{.node = 9, .name = "aten::log", .kind = "inf", .iteration = 1},
                                 {.node = 604, .name = "aten::mm", .kind = "nan", .iteration = 1}};
  const std::string text = report_to_text(report);
  EXPECT_LT(text.find("  - 171 tensors hold NaN, first of node 604 (aten::mm): the step computes "
                      "with other numbers than the original, unless that had NaN too.\n"),
            text.find("\n\n"))
      << text;
  report.total.values.nan = 0;
  EXPECT_EQ(report_to_text(report).find("hold NaN"), std::string::npos);
}

TEST(ReportText, ShowsCountersWhereTheyWereCounted) {
  et_schema::Report report = et_schema::sample_report(1);
  report.total.counters = {{"sm_active", 0.84}, {"dram_bytes", 3e9}, {"a__b/c.sum", 123456.75}};
  report.total.counter_spreads = {{"dram_bytes", 3e7}};
  report.total.counter_sources = {{"cupti", et_schema::kCounted}};
  report.total.operators = {{"aten::mm", "matmul", 12, 6.25}, {"aten::relu", "elementwise", 2, 1}};
  report.total.operators[0].counters = {{"device_ns", 300}, {"dram_bytes", 768}, {"ipc", 1.5}};
  report.total.operators[1].counters = {{"device_ns", 100}, {"dram_bytes", 256}};
  const std::string text = report_to_text(report);
  for (const char* const line :
       {"   84.0 %  share of SMs at work\n", "  2.8 GiB  bytes of device memory (spread 1.0 %)\n",
        "  123,457  a__b/c.sum\n", "  counters of cupti: counted\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  EXPECT_NE(text.find("\nCounters by class of operator, an iteration\n"
                      "    ipc  dram_bytes   share  class\n"
                      "      –       256 B  25.0 %  elementwise\n"
                      "  1.500       768 B  75.0 %  matmul\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("device_ns"), std::string::npos);
  EXPECT_NE(to_html(report_page(report)).find("device_ns"), std::string::npos);
}

TEST(ReportText, SaysWhichCountersWereAskedForInVain) {
  et_schema::Environment environment = et_schema::sample_report(1).environment;
  environment.settings["counters"] = "default,minor_faults,sm_active,dram_bytes";
  const std::string text =
      report_to_text(et_schema::merge({et_schema::sample_rank_report(0)}, {}, environment));
  EXPECT_NE(text.find("  - Not counted: sm_active, dram_bytes; perf: this machine has no hardware "
                      "counters (ENOENT).\n"),
            std::string::npos)
      << text;
}

using Json = nlohmann::ordered_json;

/// Each number and text of a report gets one of its own, by which it is found again.
class Numbered {
 public:
  explicit Numbered(Json& report) {
    for (auto& [key, value] : report.items()) {
      if (key != "format" && key != "version" && key != "world_size") {
        number(value, key);
      }
    }
  }

  struct Leaf {
    std::string path, mark;
  };
  [[nodiscard]] const std::vector<Leaf>& leaves() const { return leaves_; }

 private:
  void number(Json& value, const std::string& path) {
    if (value.is_structured()) {
      EXPECT_FALSE(value.empty()) << path << ": the sample report shows nothing of it";
      for (auto& [key, below] : value.items()) {
        if (key != "rank") {
          number(below, path + "." + key);
        }
      }
      return;
    }
    if (value.is_boolean()) {  // there are but two of them: found by its title
      leaves_.push_back({path, path.substr(path.rfind('.') + 1)});
      return;
    }
    const std::uint64_t id = kFirst + leaves_.size();
    const std::string mark = std::to_string(id);
    const bool is_text = value.is_string();
    value = is_text ? Json("text-" + mark) : Json(id);
    leaves_.push_back({path, mark});
  }

  static constexpr std::uint64_t kFirst = 1'000'001;
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
    full.coverage.device_time = {{"matmul", "replayed", 1.5, 1}};
    full.operators[0].device_ms = 2.5;
    full.operators[0].device_samples_ms = {2.5, 2.75};
    full.operators[0].recorded_device_ms = 2.25;
    full.operators[0].counters = full.operators[0].recorded_counters = {{"flop", 8}};
    full.original.counters = {{"minor_faults", 900}};
    full.counter_spreads = {{"minor_faults", 20}};
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
  const std::string csv = report_to_csv(read);
  for (const Numbered::Leaf& leaf : numbered.leaves()) {
    EXPECT_NE(csv.find(leaf.mark), std::string::npos) << leaf.path;
  }
}

/// Returns the titles of the first table, with a comma before and behind each.
std::string titles_of(const std::string& csv) {
  const std::size_t begin = csv.find('\n') + 1;
  return "," + csv.substr(begin, csv.find('\n', begin) - begin) + ",";
}

TEST(ReportCsv, LeavesWhatIsNotKnownEmpty) {
  const std::string csv = report_to_csv(et_schema::merge({et_schema::RankReport()}, {}, {}));
  EXPECT_NE(titles_of(csv).find(",coverage.count,"), std::string::npos);
  EXPECT_EQ(csv.find("nan,nan"), std::string::npos);
}

/// A labelled figure of a job: where it stands, and its line.
struct FieldPlace {
  std::string part, key, text;
};

class FieldPlaces : public et_schema::EachMember<FieldPlaces> {
 public:
  explicit FieldPlaces(std::string part) : part_(std::move(part)) {}
  void operator()(const char* key, const auto& member, const auto&... how) {
    if constexpr (requires { members(*this, member); }) {
      FieldPlaces below(key);
      members(below, member);
      std::ranges::move(below.places, std::back_inserter(places));
    } else if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(member)>> ||
                         std::same_as<decltype(member), const std::optional<double>&>) {
      (take(key, how), ...);
    }
  }
  std::vector<FieldPlace> places = {};

 private:
  void take(const char* key, const et_schema::Label auto& text) {
    places.push_back({part_, key, text});
  }
  void take(const char* /*key*/, const auto& /*no_label*/) {}

  std::string part_;
};

std::vector<FieldPlace> field_places() {
  FieldPlaces walk("");
  const et_schema::RunFigures figures;
  members(walk, figures);
  for (const et_schema::CounterFact& fact : et_schema::counter_facts()) {
    walk.places.push_back({"counters", std::string(fact.name), std::string(fact.text)});
  }
  return walk.places;
}

TEST(ReportFields, EachRowOfTheTablesIsInTheDocs) {
  const std::string metrics = content_of(std::filesystem::path(UNDERSTUDY_DOCS) / "metrics.md");
  for (const FieldPlace& place : field_places()) {
    EXPECT_NE(metrics.find("`" + place.key + "`"), std::string::npos) << place.key;
  }
}

/// A report whose rows have figures of their own, each told from the others by its digits.
et_schema::Report report_of_numbered_rows(std::vector<std::string>& figures) {
  Json json = Json::parse(et_schema::to_json(et_schema::sample_report(2)));
  json["work"]["classes"] = Json::array();
  std::uint64_t next = 10'001;
  for (const FieldPlace& place : field_places()) {
    (place.part.empty() ? json : json[place.part])[place.key] = next;
    figures.push_back(std::to_string(next));
    ++next;
  }
  return et_schema::parse_report(json.dump(), "report.json");
}

TEST(ReportFields, EachRowIsInTheTextAndTheCsv) {
  std::vector<std::string> figures;
  const et_schema::Report report = report_of_numbered_rows(figures);
  const std::string text = report_to_text(report);
  const std::string csv = report_to_csv(report);
  const std::vector<FieldPlace> places = field_places();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& [part, key, line] = places[i];
    // A count has a comma, bytes are shown in KiB: there the line is enough.
    const std::string counted = figures[i].substr(0, 2) + "," + figures[i].substr(2);
    EXPECT_TRUE(text.find(figures[i]) != std::string::npos ||
                text.find(counted) != std::string::npos || part == "memory" ||
                key.ends_with("bytes"))
        << key;
    EXPECT_NE(text.find(line), std::string::npos) << line;
    const std::string title = "," + part + (part.empty() ? "" : ".") + key + ",";
    EXPECT_NE(titles_of(csv).find(title), std::string::npos) << title;
    EXPECT_NE(csv.find("," + figures[i]), std::string::npos) << title;
  }
}

TEST(ReportDocument, EachFactAndRowIsInTheTextAndTheCsv) {
  const et_schema::Report report = et_schema::sample_report(2);
  const Page page = report_page(report);
  const std::string text = to_text(page);
  const std::string titles = titles_of(report_to_csv(report));
  std::size_t facts = 0;
  for (const Section& section : page.sections) {
    for (const Block& block : section.blocks) {
      if (const auto* const list = std::get_if<Facts>(&block)) {
        for (const Fact& fact : *list) {
          if (fact.at.empty()) {
            continue;
          }
          ++facts;
          const std::string line = fact.kind == CellKind::kText
                                       ? "  " + fact.name + ": " + fact_text(fact) + "\n"
                                       : fact_text(fact) + "  " + fact.name + "\n";
          EXPECT_NE(text.find(line), std::string::npos) << fact.at;
          std::string title = "," + fact.at.substr(1) + ",";
          std::ranges::replace(title, '/', '.');
          EXPECT_NE(titles.find(title), std::string::npos) << title;
        }
      } else if (const auto* const table = std::get_if<Table>(&block)) {
        for (std::size_t i = 0; i < std::min(table->rows.size(), table->shown_in_text); ++i) {
          const std::string name = cell_text(table->rows[i].front(), table->columns.front().kind);
          EXPECT_NE(text.find(name), std::string::npos) << table->id << ": " << name;
        }
      }
    }
  }
  EXPECT_GT(facts, field_places().size() / 2);
}

}  // namespace
}  // namespace understudy::pages
