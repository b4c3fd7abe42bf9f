#include "page_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/pages/comparison/comparison_page.h"
#include "cli/pages/prediction/prediction_page.h"
#include "cli/pages/report/report_page.h"
#include "et_schema/model/losses.h"
#include "report_samples.h"

namespace understudy::pages {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::Report;

void replace_texts(et_schema::RankReport& rank, const Words& words) {
  for (auto& row : rank.operators) {
    row.name = words.of(row.name);
    row.op_class = words.of(row.op_class);
  }
  for (auto& row : rank.collectives) {
    row.name = words.of(row.name);
    row.group = words.of(row.group);
  }
  for (auto* const list :
       {&rank.coverage.substituted, &rank.coverage.stubbed, &rank.coverage.dropped,
        &rank.coverage.not_applicable, &rank.coverage.pinned_outputs}) {
    for (et_schema::NamedCount& row : *list) {
      row = {words.of(row.name), row.count, words.of(row.note)};
    }
  }
  for (auto& row : rank.mismatches) {
    row = {row.node, words.of(row.name), words.of(row.field), words.of(row.expected),
           words.of(row.got)};
  }
  rank.value_findings = {{7, words.of("aten::log"), words.of("nan"), 3}};
  for (auto& [source, state] : rank.counter_sources) {
    state = words.of(state);
  }
  rank.measurement.ended_by = words.of(rank.measurement.ended_by);
  rank.measurement.restore_reason = words.of(rank.measurement.restore_reason);
  rank.pace.mode = words.of(rank.pace.mode);
  rank.losses = {{words.of("aliases"), 5}};
  rank.gpu = et_schema::sample_gpu_use();
  rank.gpu->health->name = words.of("A GPU");
  rank.gpu->health->mean_power_w = 640.5 + rank.rank;  // equal ranks are one row
  rank.gpu->health->warnings = {words.of("the SM clock moved")};
}

Report sample_job(const Words& words) {
  std::vector<et_schema::RankReport> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.push_back(et_schema::sample_rank_report(rank));
    replace_texts(ranks.back(), words);
  }
  et_schema::Environment environment = et_schema::sample_report(2).environment;
  for (auto* const text :
       {&environment.tool_version, &environment.benchmark, &environment.benchmark_hash,
        &environment.date_utc, &environment.device, &environment.cpu_model, &environment.backend}) {
    *text = words.of(*text);
  }
  environment.hosts = {words.of("node-1"), words.of("node-2")};
  environment.versions = {{words.of("torch"), words.of("2.11.0")}};
  environment.settings = {{words.of("seed"), words.of("1")}};
  Report report = et_schema::merge(std::move(ranks), {words.of("--only compute")}, environment);
  report.warnings = {{"iteration_ms", words.of("the median is known to ± 3 % only")},
                     {"operators", words.of("few timing passes")}};
  return report;
}

comparer::Run sample_run(const Words& words, double factor) {
  comparer::Run run;
  run.file = words.of(factor > 1 ? "new.json" : "base.json");
  run.environment.benchmark = words.of("bench.et");
  run.environment.device = words.of("cpu");
  run.environment.date_utc = words.of("2026-01-31T12:00:00Z");
  run.filters = {words.of("--only compute")};
  run.pace = words.of("recorded");
  run.interrupted_by = words.of("SIGINT");
  const auto samples = [](double ms) {
    std::vector<double> values;
    for (int i = 0; i < 30; ++i) {
      values.push_back(ms * (1 + 0.01 * (i * 7 % 5)));
    }
    return values;
  };
  using comparer::RowKind;
  run.rows = {
      {RowKind::kIteration, "", "", 0, samples(100 * factor)},
      {RowKind::kClass, words.of("matmul"), "", 0, samples(60 * factor)},
      {RowKind::kClass, words.of("optimizer"), "", 0, samples(30)},
      {RowKind::kGap, "", "", 0, samples(10)},
      {RowKind::kOperator, words.of("aten::mm"), words.of("matmul"), 6, samples(60 * factor)},
      {RowKind::kOperator, words.of("aten::_fused_adam_"), words.of("optimizer"), 1, samples(30)},
      {RowKind::kCollective, words.of("allreduce"), words.of("world of 8, 4 MiB"), 2, samples(3)}};
  return run;
}

comparer::Row sample_row(const Words& words, comparer::RowKind kind, const std::string& name,
                         double a_ms, double b_ms, comparer::Verdict verdict) {
  comparer::Row row;
  row.kind = kind;
  row.name = words.of(name);
  row.detail = words.of("matmul");
  row.count_a = 6;
  row.count_b = 6;
  row.a_ms = a_ms;
  row.b_ms = b_ms;
  row.change_ms = b_ms - a_ms;
  row.ratio = et_schema::Interval{b_ms / a_ms, b_ms / a_ms - 0.01, b_ms / a_ms + 0.01};
  row.beside_rest = row.ratio;
  row.p = 0.001;
  row.verdict = verdict;
  row.why = verdict == comparer::Verdict::kUnsure ? words.of("noise") : "";
  return row;
}

Page comparison_sample(const Words& words) {
  using comparer::RowKind;
  using comparer::Verdict;
  comparer::Comparison comparison;
  comparison.differences = {
      {words.of("versions.torch"), words.of("2.11.0"), words.of("2.12.0"),
       comparer::Weight::kVersion},
      {words.of("threads"), words.of("1"), words.of("2"), comparer::Weight::kOther}};
  comparison.is_alike = false;
  comparison.switches_per_s = 12.5;
  comparison.speed_probe = et_schema::Interval{1.01, 1.0, 1.02};
  comparison.samples_left_out = 2;
  comparison.rows = {
      sample_row(words, RowKind::kIteration, "", 100, 110, Verdict::kSlower),
      sample_row(words, RowKind::kClass, "matmul", 60, 66.5, Verdict::kSlower),
      sample_row(words, RowKind::kClass, "optimizer", 30, 30.25, Verdict::kSame),
      sample_row(words, RowKind::kClass, "copy", 4, 3.5, Verdict::kFaster),
      sample_row(words, RowKind::kGap, "", 10, 10.125, Verdict::kUnsure),
      sample_row(words, RowKind::kOperator, "aten::mm", 60, 66.5, Verdict::kSlower),
      sample_row(words, RowKind::kCollective, "allreduce", 3, 3.0625, Verdict::kUnsure)};
  comparison.counters = {
      {words.of("matmul"), words.of("dram_bytes"), 1.0e9, 1.1e9, 1.1, words.of("MORE")}};
  const auto step = [&words](double ms) {
    return comparer::DeviceStep{
        words.of("step.json.gz"),
        words.of("a card"),
        5,
        ms,
        {},
        {{words.of("aten::mm"), words.of("matmul"), words.of("gemm"), 2, ms}}};
  };
  return comparison_page(comparison, {sample_run(words, 1)}, {sample_run(words, 1.1)}, 15,
                         comparer::compare_devices(step(1), step(2)));
}

/// In the form of `predict --from-profile --format json`.
Page anchored_sample(const Words& words) {
  const Json figures = {{"kernels", 2.0},     {"recorded_ms", 0.5}, {"ms", 0.75},
                        {"low_ms", 0.5},      {"high_ms", 1.0},     {"ratio", 1.5},
                        {"roofline_ms", 0.25}};
  Json of_class = {{"class", words.of("matmul")}};
  of_class.update(figures);
  Json of_call = {{"operator", words.of("aten::mm float32[2,2]")}};
  of_call.update(figures);
  of_call["kernel"] = words.of("gemm");
  return anchored_page({{"profile", words.of("step.json.gz")},
                        {"from_card", words.of("H100")},
                        {"card", words.of("MI300X")},
                        {"steps", 2},
                        {"has_arguments", false},
                        {"device", figures},
                        {"host", {{"step_ms", 5.0}, {"device_busy_ms", 0.5}, {"device_idle", 0.9}}},
                        {"doubts", words.of("4 of 9 launches have no device event.")},
                        {"parts", {{{"name", "not the card's"}, {"ms", 0.75}, {"share", 1.0}}}},
                        {"classes", Json::array({of_class})},
                        {"calls", Json::array({of_call})}},
                       15);
}

Timeline two_ranks(const Words& words) {
  Timeline plot;
  plot.id = "step";
  plot.caption = words.of("Two ranks.");
  plot.names = {words.of("aten::mm"), words.of("allreduce")};
  plot.kinds = {words.of("matmul"), words.of("communication")};
  for (int rank = 0; rank < 2; ++rank) {
    const std::string group = words.of(fmt::format("rank {}", rank));
    plot.lanes.push_back({group, words.of("thread 1"), {{0, 1000, 0, 0}, {1500, 500, 0, 0}}});
    plot.lanes.push_back({group, words.of("communication"), {{900, 700, 1, 1}}});
  }
  return plot;
}

Page timeline_sample(const Words& words) {
  Page page;
  page.title = words.of("A timeline");
  page.subtitle = words.of("of two ranks");
  page.above = {{words.of("all"), words.of("index.html")}};
  page.verdict.sentence = words.of("Two ranks.");
  page.verdict.findings = {words.of("one finding")};
  page.figures = {{{words.of("ranks"), words.of("2")}, words.of("note")}};
  const Timeline plot = two_ranks(words);
  page.sections = {{"timeline", words.of("Timeline"), {plot}}};
  page.data_name = words.of("x.json");
  page.data = "{}";
  page.footer = words.of("footer");
  return page;
}

Json night_sample(const Words& words, int id, std::size_t jobs) {
  return {{"name", fmt::format("{}", id)},
          {"date", words.of(fmt::format("2026-01-{:02}", id + 19))},
          {"state", words.of("done")},
          {"jobs", jobs},
          {"unchanged", jobs - 5},
          {"generated", 4},
          {"replayed", jobs - 1},
          {"broken", 1},
          {"still_broken", 0},
          {"slower", id == 12 ? 2 : 0},
          {"faster", 0},
          {"recovered", 0},
          {"drifted", id == 9 ? 1 : 0},
          {"turned", 0},
          {"unjudged", 0},
          {"duration_s", 3600.5 + id}};
}

Json event_sample(const Words& words, const char* night, const char* kind, const char* job,
                  const char* text) {
  return {{"night", night},
          {"kind", words.of(kind)},
          {"job", words.of(job)},
          {"text", words.of(text)},
          {"platform", words.of("a100")}};
}

SiteFrame sample_frame(const Words& words) {
  return {.fleet_name = words.of("fleet.db"),
          .date = words.of("2026-01-31"),
          .tool_version = words.of("0.1.0"),
          .jobs = {words.of("ads/ranker"), words.of("job-0"), words.of("ads")},
          .nights = {"11", "12", "20"}};
}

}  // namespace

HtmlParts parts_of(const std::string& html) {
  HtmlParts parts{html, "", ""};
  for (auto& [id, block] : {std::pair("page", &parts.page), std::pair("data", &parts.data)}) {
    const std::string begin = fmt::format("<script type=\"application/json\" id=\"{}\">", id);
    const std::size_t from = parts.around.find(begin) + begin.size();
    const std::size_t end = parts.around.find("</script>", from);
    *block = parts.around.substr(from, end - from);
    parts.around.erase(from, end - from);
  }
  return parts;
}

Json sample_fleet(const Words& words, std::size_t jobs) {
  Json document = {{"page", "fleet"},
                   {"name", words.of("fleet.db")},
                   {"date", words.of("2026-01-31")},
                   {"events",
                    {event_sample(words, "", "slower", "ads/ranker", "1.31 times as long: matmul"),
                     event_sample(words, "", "broken", "search", "cut off")}},
                   {"platforms",
                    {{{"platform", words.of("a100")},
                      {"benchmarks", jobs},
                      {"predicted", 3},
                      {"newest", words.of("today")},
                      {"has_page", true}}}},
                   {"subsets",
                    {{{"subset", words.of("2 of 40 jobs")},
                      {"benchmarks", 2},
                      {"mix_distance", 0.021},
                      {"random_mix_distance", 0.03},
                      {"jobs", words.of("ads, search")}}}},
                   {"class_share", {{words.of("matmul"), 0.61}}}};
  for (int id = 12; id > 0; --id) {
    document["nights"].push_back(night_sample(words, id, jobs));
  }
  for (std::size_t i = 0; i < jobs; ++i) {
    const bool has_result = i != 1;
    const double ms = 31.25 + static_cast<double>(i);
    document["jobs"].push_back({{"name", words.of(fmt::format("job-{}", i))},
                                {"state", words.of(i == 0   ? "slower"
                                                   : i == 1 ? "broken"
                                                            : "ok")},
                                {"weight", 0.5 + static_cast<double>(i)},
                                {"platform", has_result ? words.of("a100") : ""},
                                {"ms", has_result ? Json(ms) : Json()},
                                {"low_ms", has_result ? Json(ms * 0.99) : Json()},
                                {"high_ms", has_result ? Json(ms * 1.01) : Json()},
                                {"change", has_result ? Json(i == 0 ? 1.31 : 1.0) : Json()},
                                {"coverage", has_result ? Json(1.0) : Json()},
                                {"tags", words.of("team=ads")},
                                {"note", words.of("since night 12")}});
  }
  return document;
}

Json sample_benchmark(const Words& words) {
  Json document = {{"format", "understudy-fleet-history"},
                   {"job", words.of("ads/ranker")},
                   {"benchmark_hash", words.of("0123456789abcdef")},
                   {"state", words.of("ok")},
                   {"broken", ""},
                   {"failing", ""},
                   {"traces", words.of("traces/ads")},
                   {"flags", words.of("--no-backward")},
                   {"weight", 1.0},
                   {"tags", words.of("team=ads")},
                   {"is_timed", true},
                   {"class_share", {{words.of("matmul"), 0.61}}},
                   {"made_utc", words.of("2026-01-20")},
                   {"generator", words.of("0.1.0")},
                   {"ranks", 1},
                   {"step_ms", 31.2},
                   {"events", {event_sample(words, "20", "change point", "ads", "30 % longer")}}};
  Json results = Json::array();
  for (int i = 0; i < 30; ++i) {
    const double ms = (i < 20 ? 31.25 : 40.75) + 0.1 * (i % 3);
    results.push_back(
        {{"night", fmt::format("{}", i + 1)},
         {"date", words.of(fmt::format("2026-01-{:02}", i + 1))},
         {"ms", ms},
         {"low_ms", ms * 0.99},
         {"high_ms", ms * 1.01},
         {"coverage", 1.0},
         {"peak_bytes", 1 << 30},
         {"source", i == 3 ? "prediction" : "replay"},
         {"software", words.of("torch 2.11.0")},
         {"class_ms", {{words.of("matmul"), i < 20 ? 20.5 : 30}, {words.of("copy") + " ", 5}}}});
  }
  document["platforms"] = {{{"platform", words.of("a100")},
                            {"report", words.of("run.html")},
                            {"results", std::move(results)},
                            {"changes",
                             {{{"index", 20},
                               {"before_ms", 31.35},
                               {"after_ms", 40.85},
                               {"text", words.of("matmul 20.5 → 30 ms")},
                               {"environment", {words.of("torch 2.10 → 2.11")}},
                               {"is_recovery", false}}}}}};
  document["earlier"] = {{{"benchmark_hash", words.of("fedcba9876543210")},
                          {"until_night", 2},
                          {"platforms", document["platforms"]}}};
  return document;
}

fleet::PlatformComparison sample_platforms(const Words& words) {
  fleet::PlatformComparison data;
  data.baseline = words.of("a100");
  data.common = 3;
  data.faster_than_next = {0.99};
  const std::vector<std::pair<const char*, double>> platforms = {{"h100", 0.61}, {"a100", 1.0}};
  for (const auto& [name, value] : platforms) {
    fleet::PlatformSummary platform;
    platform.platform = words.of(name);
    platform.ratio = {value, value - 0.02, value + 0.02};
    platform.benchmarks = 3;
    platform.predicted = value < 1 ? 1 : 0;
    platform.weight_covered = 0.9;
    platform.first_probability = value < 1 ? 0.99 : 0.01;
    platform.classes = {{words.of("matmul"), -0.3}, {words.of("copy"), 0.01}};
    for (int i = 0; i < 3; ++i) {
      const double ratio = value + 0.01 * i;
      platform.rows.push_back({words.of(fmt::format("job-{}", i)),
                               1,
                               {ratio, ratio - 0.02, ratio + 0.02},
                               i == 2 && value < 1});
    }
    data.platforms.push_back(std::move(platform));
  }
  return data;
}

et_schema::Prediction sample_prediction(const Words& words) {
  et_schema::Prediction prediction;
  prediction.tool_version = words.of("0.1.0");
  prediction.benchmark = words.of("bench.et");
  prediction.benchmark_hash = words.of("0123456789abcdef");
  prediction.world_size = 2;
  prediction.iteration_ms = {31.25, 30, 33};
  prediction.breakdown_ms = {20, 5, 4.25, 2};
  prediction.bound_ms = {22, 4, 5.25, 0};
  prediction.bound_by = words.of("compute");
  for (int rank = 0; rank < 2; ++rank) {
    prediction.ranks.push_back({rank, 31.25, prediction.breakdown_ms, {{30.5, 61, 62.5}}});
  }
  prediction.classes = {{words.of("matmul"), 12, 15}, {words.of("copy"), 2, 5}};
  prediction.operators = {{0,
                           words.of("aten::mm"),
                           words.of("matmul"),
                           {15, 14, 16},
                           true,
                           1,
                           0.5,
                           words.of("model"),
                           true}};
  prediction.critical_path = {{words.of("aten::mm"), 12, 15, words.of("device")}};
  prediction.doubtful = {{words.of("my::op"), 3, 1.4, words.of("no model")}};
  prediction.account = {{{40, 20, {{words.of("matmul"), 20}}}, words.of("the step")}};
  prediction.without_what_if_ms = 40;
  prediction.what_if = {{words.of("matmul x0.5"), {{words.of("aten::mm"), 12, 30, 15}}}};
  prediction.assumptions = {words.of("page faults as recorded")};
  prediction.platform = {{"device", words.of("h100")}};
  return prediction;
}

std::vector<NamedPage> sample_pages(const Words& words) {
  return {
      {"report.html", report_page(sample_job(words))},
      {"comparison.html", comparison_sample(words)},
      {"timeline.html", timeline_sample(words)},
      {"anchored.html", anchored_sample(words)},
      {"prediction.html", prediction_page(sample_prediction(words), two_ranks(words), 15)},
      {"fleet.html", fleet_page(sample_fleet(words, 40), sample_frame(words),
                                {Tone::kBad, words.of("Night 12: 2 SLOWER."), {words.of("busy")}})},
      {"benchmark.html", benchmark_page(sample_benchmark(words), sample_frame(words))},
      {"platforms.html", platforms_page(sample_platforms(words), sample_frame(words))},
      {"platform.html", platform_page(sample_platforms(words), 0, sample_frame(words))}};
}

Page large_page(std::size_t operators) {
  et_schema::RankReport rank = et_schema::sample_rank_report(0);
  rank.operators.clear();
  Timeline plot;
  plot.id = "large-timeline";
  plot.caption = "One rank.";
  plot.kinds = {"matmul", "elementwise"};
  TextNumbers names;
  TimelineLane thread{"rank 0", "thread 1"};
  std::int64_t now = 0;
  for (std::size_t i = 0; i < operators; ++i) {
    const std::string name = fmt::format("my::operator_{:05}", i);
    // Each its own figure, in many sizes, with ties of rounding among them.
    const double ms = static_cast<double>(i * 37 % 4096) / 16 + 0.0625;
    rank.operators.push_back(
        {name, i % 2 == 0 ? "matmul" : "elementwise", i % 7 + 1, ms, {ms, ms}, ms * 1.01});
    thread.events.push_back(
        {now, static_cast<std::int64_t>(ms * 100), names.number_of(name), i % 2});
    now += static_cast<std::int64_t>(ms * 110) + 50;
  }
  std::ranges::stable_sort(rank.operators,
                           [](const auto& a, const auto& b) { return a.ms > b.ms; });
  std::vector<double> samples;
  for (int i = 0; i < 5000; ++i) {
    samples.push_back(100 + 10 * std::sin(i / 50.0) + i % 7);
  }
  rank.iteration_ms = et_schema::iteration_stats(samples);
  Page page = report_page(et_schema::merge({rank}, {}, et_schema::sample_report(1).environment));
  plot.names = names.texts();
  plot.lanes = {std::move(thread)};
  page.sections.insert(page.sections.begin(), {"timeline", "Timeline", {plot}});
  return page;
}

}  // namespace understudy::pages
