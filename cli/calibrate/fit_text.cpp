#include "calibrate/fit_text.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "common/figures.h"
#include "common/table.h"

namespace understudy::cli {
namespace {

using predictor::DeviceKey;
using predictor::DeviceModels;
using predictor::Errors;
using predictor::FittedModel;

/// Without the sign of a zero.
std::string percent(double share) {
  std::string text = fmt::format("{:.1f}", kPercent * share);
  return text == "-0.0" ? "0.0" : text;
}

/// "+20.0" of a factor of 1.2: how far the interval reaches up.
std::string width_percent(double ln) {
  return fmt::format("{:.1f}", kPercent * std::expm1(ln));
}

TextTable models_table() {
  return TextTable({{"device"},
                    {"operator or family"},
                    {"rows", Alignment::kRight},
                    {"model"},
                    {"mean %", Alignment::kRight},
                    {"geo %", Alignment::kRight},
                    {"worst %", Alignment::kRight},
                    {"bias %", Alignment::kRight},
                    {"90 % within +%", Alignment::kRight},
                    {"beyond +%", Alignment::kRight}});
}

void add_model(TextTable& table, const std::string& device, const std::string& name,
               const FittedModel& fitted) {
  const Errors& errors = fitted.errors();
  const bool is_known = errors.n > 0;
  const auto shown = [&](double share) { return is_known ? percent(share) : std::string("-"); };
  table.add({device, name, with_commas(fitted.rows),
             std::string(to_string(fitted.candidates.front().candidate)), shown(errors.mean),
             shown(errors.geometric), shown(errors.worst), shown(errors.bias),
             width_percent(fitted.width), width_percent(fitted.width_beyond)});
}

TextTable all_models(const predictor::Platform& platform) {
  TextTable table = models_table();
  for (const auto& [key, device] : platform.operators.devices()) {
    for (const auto& [name, fitted] : device.by_operator) {
      add_model(table, to_string(key), name, fitted);
    }
    for (const auto& [name, fitted] : device.by_family) {
      add_model(table, to_string(key), "family " + name, fitted);
    }
  }
  return table;
}

TextTable shared_models(const predictor::Platform& platform) {
  TextTable table({{"times of what"},
                   {"cards", Alignment::kRight},
                   {"mean %", Alignment::kRight},
                   {"geo %", Alignment::kRight},
                   {"worst %", Alignment::kRight},
                   {"bias %", Alignment::kRight},
                   {"90 % within +%", Alignment::kRight},
                   {"small boards +%", Alignment::kRight}});
  for (const auto& [name, fit] : platform.operators.shared()) {
    table.add({name, fmt::format("{}", fit.cards.size()), percent(fit.errors.mean),
               percent(fit.errors.geometric), percent(fit.errors.worst), percent(fit.errors.bias),
               width_percent(fit.width), width_percent(fit.narrow_width)});
  }
  return table;
}

TextTable section_models(const std::vector<predictor::SectionModel>& models) {
  TextTable table({{"section"},
                   {"covers"},
                   {"rows", Alignment::kRight},
                   {"model"},
                   {"mean %", Alignment::kRight},
                   {"geo %", Alignment::kRight},
                   {"worst %", Alignment::kRight},
                   {"bias %", Alignment::kRight}});
  for (const predictor::SectionModel& model : models) {
    const Errors& errors = model.left_out;
    const auto shown = [&](double share) {
      return errors.n > 0 ? percent(share) : std::string("-");
    };
    table.add({model.section, model.covers, with_commas(model.rows), model.model,
               shown(errors.mean), shown(errors.geometric), shown(errors.worst),
               shown(errors.bias)});
  }
  return table;
}

nlohmann::ordered_json json_of(const Errors& errors) {
  return {{"n", errors.n},
          {"mean", errors.mean},
          {"geometric", errors.geometric},
          {"worst", errors.worst},
          {"bias", errors.bias}};
}

}  // namespace

std::string fit_text(const predictor::Platform& platform, const FitResult& result,
                     const std::string& output) {
  std::string out = fmt::format(
      "{}: {} measured calls, {} device{}\n", output, with_commas(platform.rows.size()),
      platform.operators.devices().size(), platform.operators.devices().size() == 1 ? "" : "s");
  for (const auto& [key, device] : platform.operators.devices()) {
    out += fmt::format("  {}: {:.4g} GFLOP/s, {:.4g} GB/s, {:.4g} MiB cache ({})\n", to_string(key),
                       device.card.flops / 1e9, device.card.bandwidth_bytes_per_s / 1e9,
                       device.card.l2_bytes / (1U << 20U), device.card.source);
  }
  for (const auto& [reason, count] : result.left_out) {
    out += fmt::format("  left out: {}: {}\n", reason, with_commas(count));
  }
  if (platform.rows.empty() && platform.sections.contains("overheads")) {
    out +=
        "  no operators: a profile tells their times where it has their sizes (record_shapes), or "
        "where it is linked with its trace (generate --profile; give the benchmark)\n";
  }
  const TextTable models = all_models(platform);
  if (!models.empty()) {
    out += "\nModels, their errors in cross-validation by shape\n" + models.to_text();
  }
  const TextTable sections = section_models(result.sections);
  if (!sections.empty()) {
    out += "\nBeside operators, their errors on what was left out\n" + sections.to_text();
  }
  const TextTable shared = shared_models(platform);
  if (!shared.empty()) {
    out += "\nFor cards that were not measured, their errors on each card left out\n" +
           shared.to_text();
  }
  return out;
}

std::string fit_json(const predictor::Platform& platform, const FitResult& result) {
  nlohmann::ordered_json document;
  document["rows"] = platform.rows.size();
  document["left_out"] = result.left_out;
  document["models"] = nlohmann::ordered_json::array();
  for (const auto& [key, device] : platform.operators.devices()) {
    for (const auto* group : {&device.by_operator, &device.by_family}) {
      for (const auto& [name, fitted] : *group) {
        nlohmann::ordered_json model = {{"device", key.device},
                                        {"threads", key.threads},
                                        {"timed", to_string(key.timed)},
                                        {"covers", name},
                                        {"is_family", group == &device.by_family},
                                        {"rows", fitted.rows},
                                        {"width", fitted.width},
                                        {"width_beyond", fitted.width_beyond}};
        for (const predictor::CandidateErrors& candidate : fitted.candidates) {
          model["candidates"].push_back(
              {{"model", to_string(candidate.candidate)}, {"errors", json_of(candidate.errors)}});
        }
        document["models"].push_back(model);
      }
    }
  }
  document["shared"] = nlohmann::ordered_json::array();
  for (const auto& [name, fit] : platform.operators.shared()) {
    document["shared"].push_back({{"covers", name},
                                  {"cards", fit.cards},
                                  {"width", fit.width},
                                  {"narrow_width", fit.narrow_width},
                                  {"errors", json_of(fit.errors)}});
  }
  document["sections"] = nlohmann::ordered_json::array();
  for (const predictor::SectionModel& model : result.sections) {
    document["sections"].push_back({{"section", model.section},
                                    {"covers", model.covers},
                                    {"rows", model.rows},
                                    {"model", model.model},
                                    {"errors", json_of(model.left_out)}});
    if (model.factor) {
      document["sections"].back()["factor"] = {{"factor", model.factor->factor},
                                               {"low", model.factor->low},
                                               {"high", model.factor->high},
                                               {"deviation", model.factor->deviation},
                                               {"calls", model.factor->calls}};
    }
  }
  return document.dump(2) + "\n";
}

std::string fit_csv(const predictor::Platform& platform) {
  return all_models(platform).to_csv();
}

}  // namespace understudy::cli
