#include "fleet/analysis/platforms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/figures.h"
#include "common/json_csv.h"
#include "common/output.h"
#include "common/run_main.h"
#include "common/table.h"
#include "fleet/candidates.h"
#include "fleet/commands.h"
#include "fleet/database/schema.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;

struct PlatformsArguments {
  std::string url;
  std::string baseline;
  Format format = Format::kText;
};

PlatformsArguments read_platforms_arguments(int argc, char** argv) {
  PlatformsArguments arguments;
  const auto app = make_app(
      {.name = "fleet platforms",
       .description = "Compares platforms with a baseline, by the newest results of each job's "
                      "benchmark: ratios of times, weighted and by benchmark, with 95 % intervals; "
                      "the ranking and how certain it is; the classes of operators that drive a "
                      "ratio. Only results of the same benchmark, by its hash, are compared.",
       .examples = "  fleet platforms fleet.db --baseline a100\n"
                   "  fleet platforms fleet.db --baseline a100 --format json\n",
       .failure = "the database failed"});
  add_database_option(*app, arguments.url);
  app->add_option("--baseline", arguments.baseline, "The platform that is 1")
      ->required()
      ->type_name("NAME");
  add_format_option(*app, arguments.format);
  parse_arguments(*app, argc, argv);
  return arguments;
}

Json interval(const fleet::RatioInterval& ratio) {
  return {{"value", ratio.value}, {"low", ratio.low}, {"high", ratio.high}};
}

Json json_of(const fleet::PlatformComparison& comparison, std::size_t jobs) {
  Json platforms = Json::array();
  for (std::size_t i = 0; i < comparison.platforms.size(); ++i) {
    const fleet::PlatformSummary& row = comparison.platforms[i];
    Json benchmarks = Json::array();
    for (const fleet::BenchmarkRatio& benchmark : row.rows) {
      benchmarks.push_back({{"job", benchmark.job},
                            {"weight", benchmark.weight},
                            {"ratio", interval(benchmark.ratio)},
                            {"predicted", benchmark.is_predicted}});
    }
    Json classes = Json::array();
    for (const fleet::ClassPart& part : row.classes) {
      classes.push_back({{"class", part.name}, {"part", part.part}});
    }
    platforms.push_back(
        {{"platform", row.platform},
         {"benchmarks", row.benchmarks},
         {"predicted", row.predicted},
         {"without_interval", row.without_interval},
         {"weight_covered", row.weight_covered},
         {"ratio", interval(row.ratio)},
         {"first_probability",
          std::isfinite(row.first_probability) ? Json(row.first_probability) : Json()},
         {"faster_than_next_probability",
          i < comparison.faster_than_next.size() && std::isfinite(comparison.faster_than_next[i])
              ? Json(comparison.faster_than_next[i])
              : Json()},
         {"classes", std::move(classes)},
         {"benchmark_ratios", std::move(benchmarks)}});
  }
  return {{"format", "understudy-fleet-platforms"},
          {"version", 1},
          {"baseline", comparison.baseline},
          {"jobs", jobs},
          {"common", comparison.common},
          {"without_common", comparison.without_common},
          {"platforms", std::move(platforms)}};
}

std::string drivers_text(const fleet::PlatformSummary& row) {
  constexpr std::size_t kMost = 3;
  constexpr double kLeast = 0.005;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, row.classes.size()); ++i) {
    if (std::abs(row.classes[i].part) >= kLeast) {
      text += fmt::format("{}{} {:+.1f} %", text.empty() ? "" : ", ", row.classes[i].name,
                          kPercent * row.classes[i].part);
    }
  }
  return text;
}

std::string text_of(const fleet::PlatformComparison& comparison, std::size_t jobs) {
  std::string text = fmt::format(
      "{} jobs' benchmarks, {} with a time on every platform; times against {}, below 1 is "
      "faster\n",
      jobs, comparison.common, comparison.baseline);
  TextTable table({{"platform"},
                   {"ratio", Alignment::kRight},
                   {"95 % interval"},
                   {"benchmarks", Alignment::kRight},
                   {"weight", Alignment::kRight},
                   {"first", Alignment::kRight},
                   {"faster than next", Alignment::kRight},
                   {"what drives it"}});
  for (std::size_t i = 0; i < comparison.platforms.size(); ++i) {
    const fleet::PlatformSummary& row = comparison.platforms[i];
    const bool has_next =
        i < comparison.faster_than_next.size() && std::isfinite(comparison.faster_than_next[i]);
    table.add({row.platform, fmt::format("{:.3f}", row.ratio.value),
               fmt::format("{:.3f} to {:.3f}", row.ratio.low, row.ratio.high),
               row.predicted > 0 ? fmt::format("{} ({} predicted)", row.benchmarks, row.predicted)
                                 : std::to_string(row.benchmarks),
               fmt::format("{:.0f} %", kPercent * row.weight_covered),
               std::isfinite(row.first_probability)
                   ? fmt::format("{:.0f} %", kPercent * row.first_probability)
                   : "",
               has_next ? fmt::format("{:.0f} %", kPercent * comparison.faster_than_next[i]) : "",
               drivers_text(row)});
  }
  text += table.to_text();
  for (const fleet::PlatformSummary& row : comparison.platforms) {
    if (row.without_interval > 0 && row.platform != comparison.baseline) {
      text += fmt::format(
          "{}: {} of {} benchmarks ran too few iterations for an interval: theirs is not in the "
          "platform's\n",
          row.platform, row.without_interval, row.benchmarks);
    }
  }
  if (!comparison.without_common.empty()) {
    text += fmt::format("Not compared, without a benchmark that {} has: {}\n", comparison.baseline,
                        fmt::join(comparison.without_common, ", "));
  }
  for (const fleet::PlatformSummary& row : comparison.platforms) {
    if (row.platform == comparison.baseline) {
      continue;
    }
    text += fmt::format("\n{}\n", row.platform);
    TextTable rows({{"job"}, {"ratio", Alignment::kRight}, {"95 % interval"}, {""}});
    std::vector<fleet::BenchmarkRatio> sorted = row.rows;
    std::ranges::stable_sort(sorted, std::ranges::greater(),
                             [](const fleet::BenchmarkRatio& one) { return one.ratio.value; });
    for (const fleet::BenchmarkRatio& one : sorted) {
      rows.add({one.job, fmt::format("{:.3f}", one.ratio.value),
                std::isfinite(one.ratio.low)
                    ? fmt::format("{:.3f} to {:.3f}", one.ratio.low, one.ratio.high)
                    : "not known",
                one.is_predicted ? "predicted" : ""});
    }
    text += rows.to_text();
  }
  return text;
}

}  // namespace

int fleet_platforms(int argc, char** argv) {
  const PlatformsArguments arguments = read_platforms_arguments(argc, argv);
  const auto connection = fleet::open_fleet(arguments.url, fleet::Opening::kExisting);
  const std::vector<fleet::PlatformRow> rows = platform_rows(*connection);
  const fleet::PlatformComparison comparison = fleet::compare_platforms(rows, arguments.baseline);
  print_output(as_asked(
      arguments.format, json_of(comparison, rows.size()),
      [&] { return text_of(comparison, rows.size()); }, 1));
  return kStatusOk;
}

}  // namespace understudy::cli
