#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/pages/document/from_json.h"
#include "cli/pages/prediction/prediction_page.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/file_name.h"

namespace understudy::pages {
namespace {

using et_schema::figure_text;
using Json = nlohmann::ordered_json;

/// Below this idle share the host always had work ready for the device.
constexpr double kIdleOfHostBound = 0.1;
constexpr double kMuch = 0.05;

std::string anchored_verdict(const Json& document) {
  const Json& device = document.at("device");
  const bool is_same = document.at("card") == document.at("from_card");
  const std::string doubts = text_in(document, "doubts");
  const std::string unsure = doubts + (doubts.empty() ? "" : " ");
  return unsure + fmt::format(
                      "A step's work on {} would take {} ms of device time, 90 % within {} to {}: "
                      "{:.3f} times the "
                      "{} ms on {}; {}.",
                      text_in(document, "card"), figure_text(number_in(device, "ms")),
                      figure_text(number_in(device, "low_ms")),
                      figure_text(number_in(device, "high_ms")), number_in(device, "ratio"),
                      figure_text(number_in(device, "recorded_ms")), text_in(document, "from_card"),
                      is_same ? "that is the card it was recorded on" : "nobody ran this");
}

std::vector<std::string> anchored_findings(const Json& document) {
  std::vector<std::string> findings;
  const Json& known_idle = document.at("host").at("device_idle");
  const double idle = known_idle.is_number() ? known_idle.get<double>() : 0;
  if (idle > kIdleOfHostBound) {
    findings.push_back(fmt::format(
        "The device waited for the host in {} of the recorded step's {} ms: with such a host "
        "another card changes the step by less than its device time.",
        et_schema::share_text(idle), figure_text(number_in(document.at("host"), "step_ms"))));
  }
  if (!document.at("has_arguments").get<bool>()) {
    findings.emplace_back(
        "The profile has no operators' arguments: kernels above their floors are scaled by the "
        "cards' peaks alone. Profile with record_shapes=True.");
  }
  for (const Json& part : document.at("parts")) {
    const auto name = part.at("name").get<std::string>();
    const double share = part.at("share").get<double>();
    if (name == "unknown work" && share > kMuch && document.at("has_arguments").get<bool>()) {
      findings.push_back(
          fmt::format("{} is of kernels without operators that tell their work: "
                      "scaled by the cards' peaks alone.",
                      et_schema::share_text(share)));
    } else if (name == "not the card's" && share > kMuch) {
      findings.push_back(
          fmt::format("{} is communication and copies from and to the host, which "
                      "keep their recorded times.",
                      et_schema::share_text(share)));
    }
  }
  return findings;
}

std::vector<Column> figure_columns(const char* title, const char* key) {
  constexpr std::size_t kCallInText = 72;  // lists of tensors have many sizes
  return {{.title = title, .key = key, .most_in_text = kCallInText},
          counts("kernels"),
          figures("recorded ms", "recorded_ms"),
          figures("predicted ms", "ms"),
          figures("from", "low_ms"),
          figures("to", "high_ms"),
          ratios("ratio"),
          figures("roofline ms", "roofline_ms", 1, "at the card's peaks")};
}

}  // namespace

Page anchored_page(const Json& document, std::size_t top) {
  Page page;
  page.title = "A profile's step on another card";
  page.subtitle =
      fmt::format("{}: {} to {}, {} step{}", et_schema::file_name(text_in(document, "profile")),
                  text_in(document, "from_card"), text_in(document, "card"),
                  document.at("steps").get<std::uint64_t>(),
                  document.at("steps") == 1 ? "" : "s, figures are of one on average");
  page.verdict.sentence = anchored_verdict(document);
  page.verdict.findings = anchored_findings(document);
  page.figures = {
      {fact_at(document, "/device/ms", "Device time", CellKind::kFigure, "ms"), "predicted"},
      {fact_at(document, "/device/recorded_ms", "Recorded", CellKind::kFigure, "ms"), ""},
      {fact_at(document, "/device/ratio", "Ratio", CellKind::kRatio), ""}};
  const Table parts = table_at(document, "/parts", "What the predicted time consists of",
                               {texts("part", "name"), figures("ms"), shares("share")});
  Table classes = table_at(document, "/classes", "Device time by class of kernel, of a step",
                           figure_columns("class", "class"));
  classes.plots = {{.caption = "Device time by class.", .columns = {2, 3}, .unit = "ms"}};
  std::vector<Column> columns = figure_columns("operator", "operator");
  columns.push_back(
      {.title = "longest kernel when recorded", .key = "kernel", .most_in_text = kNameInText});
  const Table calls =
      table_at(document, "/calls", "Operators, by recorded time", std::move(columns), top);
  page.sections = {{"classes", "Device time", {classes, parts}},
                   {"host",
                    "The recorded step",
                    {facts_at(document, "/host",
                              {figures("Step, to the end of its device's work", "step_ms", 1, "ms"),
                               figures("Device busy", "device_busy_ms", 1, "ms"),
                               shares("Device idle", "device_idle")})}},
                   {"operators", "Operators", {calls}}};
  return made_by("predict", std::move(page), document, "prediction.json", 1);
}

}  // namespace understudy::pages
