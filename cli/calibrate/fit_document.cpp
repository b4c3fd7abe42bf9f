#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "cli/pages/document/from_json.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/file_name.h"
#include "fit_files.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using pages::byte_counts, pages::counts, pages::figures, pages::shares, pages::table_at,
    pages::texts;

Json json_of(const predictor::Errors& errors) {
  const auto known = [&errors](double error) { return errors.n > 0 ? Json(error) : Json(); };
  return {{"n", errors.n},
          {"mean", known(errors.mean)},
          {"geometric", known(errors.geometric)},
          {"worst", known(errors.worst)},
          {"bias", known(errors.bias)}};
}

Json fit_document(const predictor::Platform& platform, const FitResult& result) {
  Json document;
  document["rows"] = platform.rows.size();
  document["cards"] = Json::array();
  for (const auto& [key, device] : platform.operators.devices()) {
    document["cards"].push_back({{"device", to_string(key)},
                                 {"flops", device.card.flops},
                                 {"bandwidth_bytes_per_s", device.card.bandwidth_bytes_per_s},
                                 {"cache_bytes", device.card.l2_bytes},
                                 {"source", device.card.source}});
  }
  document["left_out"] = result.left_out;
  document["models"] = Json::array();
  for (const auto& [key, device] : platform.operators.devices()) {
    for (const auto* group : {&device.by_operator, &device.by_family}) {
      for (const auto& [name, fitted] : *group) {
        Json model = {{"on", to_string(key)},
                      {"device", key.device},
                      {"threads", key.threads},
                      {"timed", to_string(key.timed)},
                      {"covers", name},
                      {"is_family", group == &device.by_family},
                      {"rows", fitted.rows},
                      {"model", to_string(fitted.model.kind)},
                      {"errors", json_of(fitted.errors)},
                      {"width", fitted.width},
                      {"reaches", std::expm1(fitted.width)},
                      {"width_beyond", fitted.width_beyond},
                      {"reaches_beyond", std::expm1(fitted.width_beyond)}};
        document["models"].push_back(model);
      }
    }
  }
  document["sections"] = Json::array();
  for (const predictor::SectionModel& model : result.sections) {
    document["sections"].push_back({{"section", model.section},
                                    {"covers", model.covers},
                                    {"rows", model.rows},
                                    {"model", model.model},
                                    {"errors", json_of(model.left_out)}});
  }
  return document;
}

/// Returns `columns`, then columns of the errors, then `more`.
std::vector<pages::Column> with_errors(std::vector<pages::Column> columns,
                                       const std::vector<pages::Column>& more = {}) {
  for (const auto& [title, key] :
       {std::pair("mean", "mean"), {"geo", "geometric"}, {"worst", "worst"}, {"bias", "bias"}}) {
    columns.push_back(shares(title, fmt::format("errors/{}", key)));
  }
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

pages::Section models_section(const Json& document) {
  return {
      "models",
      "Models",
      {table_at(
           document, "/models", "Models, their errors in cross-validation by shape",
           with_errors({texts("operator or family", "covers"), texts("a family", "is_family"),
                        texts("device", "on"), counts("rows"), texts("model")},
                       {shares("90 % within +", "reaches"), shares("beyond +", "reaches_beyond")})),
       table_at(document, "/sections", "Beside operators, their errors on what was left out",
                with_errors({texts("covers"), texts("section"), counts("rows"), texts("model")}))}};
}

}  // namespace

pages::Page fit_page(const predictor::Platform& platform, const FitResult& result,
                     const std::string& output) {
  const Json document = fit_document(platform, result);
  pages::Page page;
  page.title = fmt::format("{}: {} measured calls, {}", et_schema::file_name(output),
                           et_schema::with_commas(platform.rows.size()),
                           et_schema::counted(platform.operators.devices().size(), "device"));
  if (platform.rows.empty() && platform.sections.contains("overheads")) {
    page.verdict.findings.emplace_back(
        "No operators: a profile tells their times where it has their sizes (record_shapes), or "
        "where it is linked with its trace (understudy generate --profile; give the benchmark).");
  }
  page.sections = {{"cards",
                    "Devices",
                    {table_at(document, "/cards", "Devices",
                              {texts("device"), figures("GFLOP/s", "flops", 1e-9),
                               figures("GB/s", "bandwidth_bytes_per_s", 1e-9),
                               byte_counts("cache", "cache_bytes"), texts("told by", "source")}),
                     table_at(document, "/left_out", "Rows that were left out",
                              {texts("reason", "name"), counts("rows", "value")})}},
                   models_section(document)};
  return made_by("calibrate", std::move(page), document, "fit.json", 2);
}

}  // namespace understudy::cli
