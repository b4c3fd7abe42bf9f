#include "predict/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "common/figures.h"
#include "pages/prediction/prediction_page.h"

namespace understudy::cli {
namespace {

using et_schema::Prediction;
using Json = nlohmann::json;
using pages::PredictedRow;

constexpr double kNsPerUs = 1e3;

/// Where an event stands: its process and thread.
using Place = std::pair<std::int64_t, std::int64_t>;

std::string class_of(const Json& event) {
  const auto about = event.find("args");
  return about == event.end() ? "wait" : about->value("class", std::string("other"));
}

/// The classes that take most time have a colour of their own.
std::vector<std::string> kinds_of(const Json& events) {
  std::map<std::string, double> sums;
  for (const Json& event : events) {
    if (event.at("ph") == "X") {
      sums[class_of(event)] += event.at("dur").get<double>();
    }
  }
  std::vector<std::pair<std::string, double>> order(sums.begin(), sums.end());
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.second > b.second; });
  constexpr std::size_t kMost = 9;
  std::vector<std::string> kinds;
  for (std::size_t i = 0; i < std::min(order.size(), kMost); ++i) {
    kinds.push_back(order[i].first);
  }
  if (order.size() > kMost) {
    kinds.emplace_back("others");
  }
  return kinds;
}

/// Lanes by process and thread, as the trace names them.
pages::Timeline timeline_of(const std::string& trace) {
  pages::Timeline plot;
  plot.id = "prediction-timeline";
  plot.caption = "The last two predicted iterations; ranks that were played as one stand once.";
  if (trace.empty()) {
    return plot;
  }
  const Json document = Json::parse(trace);
  const Json& events = document.at("traceEvents");
  plot.kinds = kinds_of(events);
  std::map<std::int64_t, std::string> groups;
  std::map<Place, pages::TimelineLane> lanes;
  pages::TextNumbers names;
  for (const Json& event : events) {
    const Place place{event.at("pid").get<std::int64_t>(), event.at("tid").get<std::int64_t>()};
    if (event.at("ph") == "M") {
      const std::string name = event.at("args").at("name").get<std::string>();
      (event.at("name") == "process_name" ? groups[place.first] : lanes[place].name) = name;
      continue;
    }
    const auto kind = std::ranges::find(plot.kinds, class_of(event)) - plot.kinds.begin();
    lanes[place].events.push_back(
        {static_cast<std::int64_t>(std::llround(event.at("ts").get<double>() * kNsPerUs)),
         static_cast<std::int64_t>(std::llround(event.at("dur").get<double>() * kNsPerUs)),
         names.number_of(event.at("name").get<std::string>()),
         std::min(static_cast<std::size_t>(kind), plot.kinds.size() - 1)});
  }
  for (auto& [place, lane] : lanes) {
    lane.group = groups[place.first];
    plot.lanes.push_back(std::move(lane));
  }
  plot.names = names.texts();
  return plot;
}

/// Instructions of one name, with every model that gave one of their times.
std::vector<PredictedRow> operator_rows(const Prediction& prediction) {
  std::map<std::string, PredictedRow> rows;
  std::map<std::string, std::set<std::string>> models;
  for (const et_schema::PredictedOperator& one : prediction.operators) {
    PredictedRow& row = rows[one.name];
    const double before_ms = row.count == 0 ? 0 : row.ms;
    row.name = one.name;
    row.detail = one.op_class;
    row.ms = before_ms + one.time.ms;
    ++row.count;
    models[one.name].insert(one.extrapolated ? one.model + " (extrapolated)" : one.model);
  }
  std::vector<PredictedRow> list;
  for (auto& [name, row] : rows) {
    for (const std::string& model : models[name]) {
      row.source += (row.source.empty() ? "" : ", ") + model;
    }
    list.push_back(std::move(row));
  }
  std::ranges::stable_sort(
      list, [](const PredictedRow& a, const PredictedRow& b) { return a.ms > b.ms; });
  return list;
}

void add_warnings(const Prediction& prediction, pages::PredictionData& data) {
  for (const et_schema::PredictedUnmodelled& row : prediction.unmodelled) {
    data.warnings.push_back(fmt::format(
        "No model of {} ({} calls, {:.1f} % of the operators' time): a bound stands in.", row.name,
        row.count, row.share * kPercent));
  }
  for (const std::string& assumption : prediction.assumptions) {
    data.warnings.push_back("Assumed: " + assumption + ".");
  }
}

void add_ranks(const Prediction& prediction, pages::PredictionData& data) {
  for (const et_schema::PredictedRank& rank : prediction.ranks) {
    data.ranks.push_back({fmt::format("rank {}", rank.rank), rank.iteration_ms,
                          rank.breakdown_ms.compute, rank.breakdown_ms.exposed_communication,
                          rank.breakdown_ms.host_bound, rank.breakdown_ms.idle});
    if (rank.rank == prediction.slowest_rank && rank.recorded_step) {
      data.recorded_ms =
          rank.recorded_step->unprofiled_ms.value_or(rank.recorded_step->recorded_ms);
    }
  }
}

void add_questions(const Prediction& prediction, pages::PredictionData& data) {
  if (prediction.without_what_if_ms) {
    data.facts.emplace_back("without the what-ifs",
                            fmt::format("{:.3f} ms", *prediction.without_what_if_ms));
  }
  for (const et_schema::PredictedChange& change : prediction.what_if) {
    double before = 0;
    double after = 0;
    for (const et_schema::PredictedChange::Row& row : change.rows) {
      before += row.before_ms;
      after += row.after_ms;
    }
    data.facts.emplace_back("what if " + change.what_if,
                            fmt::format("{:.3f} → {:.3f} ms of work on all ranks", before, after));
  }
}

}  // namespace

pages::Page prediction_as_page(const Prediction& prediction, const std::string& trace) {
  pages::PredictionData data;
  data.benchmark = prediction.benchmark;
  const auto device = prediction.platform.find("device");
  data.platform = device == prediction.platform.end() ? "the recorded platform" : device->second;
  data.method = fmt::format(
      "A simulation of threads, streams and {} {}; bound by {}. Intervals hold 9 times of 10.",
      prediction.world_size, prediction.world_size == 1 ? "rank" : "ranks", prediction.bound_by);
  data.tool_version = prediction.tool_version;
  data.iteration_ms = prediction.iteration_ms.ms;
  data.low_ms = prediction.iteration_ms.low;
  data.high_ms = prediction.iteration_ms.high;
  add_warnings(prediction, data);
  add_ranks(prediction, data);
  for (const et_schema::PredictedClass& row : prediction.classes) {
    PredictedRow one;
    one.name = row.name;
    one.count = row.count;
    one.ms = row.ms;
    data.classes.push_back(std::move(one));
  }
  data.operators = operator_rows(prediction);
  for (const et_schema::PredictedPathRow& row : prediction.critical_path) {
    data.critical_path.push_back({row.name, row.where, row.count, row.ms});
  }
  data.timeline = timeline_of(trace);
  add_questions(prediction, data);
  for (const auto& [name, value] : prediction.platform) {
    data.facts.emplace_back(name, value);
  }
  data.json = et_schema::to_json(prediction);
  return pages::prediction_page(data);
}

}  // namespace understudy::cli
