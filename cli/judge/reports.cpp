#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "et_schema/base/input_files.h"
#include "et_schema/base/read_file.h"
#include "et_schema/base/zip.h"
#include "et_schema/formats/prediction/prediction.h"
#include "et_schema/formats/report/report_json.h"
#include "et_schema/model/op_class.h"
#include "fleet/analysis/figures.h"
#include "fleet/analysis/judge.h"
#include "tasks.h"

namespace understudy::fleet {

void members(auto& json, et_schema::SameAs<Judgement> auto& judgement) {
  json("change", judgement.change,
       et_schema::Names{change_from_string, "none, slower, faster or unjudged"});
  json("ratio", judgement.ratio);
  json("text", judgement.text, et_schema::kFreeText);
}

}  // namespace understudy::fleet

namespace understudy::cli {
namespace {

using et_schema::SameAs;
using Json = nlohmann::ordered_json;

/// A replay to be judged.
struct NightRequest {
  std::vector<std::string> before;  ///< reports of judged nights, the newest first
  std::string tonight;              ///< a report
  double least_change = fleet::kLeastChange;
  std::optional<fleet::Judgement> first;  ///< of tonight's first replay, if this is the second
};

void members(auto& json, SameAs<NightRequest> auto& request) {
  json("before", request.before, et_schema::kFreeText);
  json("tonight", request.tonight, et_schema::kFreeText);
  json("least_change", request.least_change, et_schema::kNotNegative);
  json("first", request.first);
}

/// Returns the reports of the newest quiet nights, the oldest first.
std::vector<et_schema::Report> quiet_reports(const std::vector<std::string>& files) {
  constexpr std::size_t kMostNights = 5;
  std::vector<et_schema::Report> reports;
  for (const std::string& file : files) {
    if (reports.size() == kMostNights) {
      break;
    }
    try {
      et_schema::Report report = read_stored_report(file);
      if (fleet::was_quiet(report)) {
        reports.insert(reports.begin(), std::move(report));
      }
    } catch (const et_schema::Error&) {
      // `fleet verify` reports the damage.
    }
  }
  return reports;
}

}  // namespace

/// Judges tonight's replay against those of nights before.
Answer night_task(std::istream& text, const TaskOptions& /*options*/) {
  const auto request = request_in<NightRequest>(all_of(text));
  const std::vector<et_schema::Report> before = quiet_reports(request.before);
  const et_schema::Report tonight = read_stored_report(request.tonight);
  fleet::Judgement judgement = fleet::judge(before, tonight, request.least_change);
  if (request.first) {
    judgement = fleet::confirmed(*request.first, judgement);
  }
  Json result = et_schema::json_of(judgement);
  result["detail"] = judgement.detail;
  result["compared"] = before.size();
  result["result"] = et_schema::json_of(fleet::figures_of(tonight));
  result["environment"] = fleet::lasting_environment(tonight.environment);
  result["software"] = fleet::software_of(tonight.environment);
  return json_answer(result);
}

namespace {

Json prediction_in(const std::string& text, const std::string& file) {
  constexpr double kTo95 = 1.959964 / 1.644854;  // predictions have 90 % intervals
  const et_schema::PredictedIteration predicted = et_schema::parse_predicted_iteration(text, file);
  const auto& [ms, low, high] = predicted.ms;
  fleet::Figures figures{.median_ms = ms,
                         .low_ms = ms * std::pow(low / ms, kTo95),
                         .high_ms = ms * std::pow(high / ms, kTo95),
                         .is_predicted = true};
  for (const auto& [name, operator_ms] : predicted.operators) {
    figures.class_ms[std::string(et_schema::op_class(name))] += operator_ms;
  }
  return {{"benchmark_hash", et_schema::json_of(predicted.benchmark_hash)},
          {"result", et_schema::json_of(figures)},
          {"environment", {{"source", "prediction"}}},
          {"software", "prediction"}};
}

Json replay_in(const std::string& text, const std::string& file) {
  const et_schema::Report report = et_schema::parse_report(text, file);
  const std::string& hash = report.environment.benchmark_hash;
  return {{"benchmark_hash", hash.empty() ? Json() : Json(hash)},
          {"result", et_schema::json_of(fleet::figures_of(report))},
          {"environment", fleet::lasting_environment(report.environment)},
          {"software", fleet::software_of(report.environment)}};
}

}  // namespace

/// Returns the figures of reports and predictions.
Answer results_task(std::istream& text, const TaskOptions& /*options*/) {
  Json list = Json::array();
  for (const std::string& file :
       list_in<std::string>(all_of(text), "files", et_schema::kFreeText)) {
    const std::string bytes = et_schema::read_file(file, et_schema::process_limits());
    list.push_back(et_schema::starts_as_report(bytes) ? replay_in(bytes, file)
                                                      : prediction_in(bytes, file));
  }
  return json_answer({{"results", std::move(list)}});
}

et_schema::Report read_stored_report(const std::string& file) {
  const std::string bytes = et_schema::read_file(file, et_schema::process_limits());
  if (!bytes.starts_with("PK")) {
    return et_schema::parse_report(bytes, file);
  }
  const auto members = et_schema::unzip(bytes, file, et_schema::process_limits());
  const auto found = members.find("report.json");
  if (found == members.end()) {
    throw et_schema::bad_input("an object of the store is no report", {.file = file});
  }
  return et_schema::parse_report(found->second, file);
}

}  // namespace understudy::cli
