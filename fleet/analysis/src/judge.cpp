#include "fleet/analysis/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "comparer/compare.h"
#include "et_schema/model/measurement.h"

namespace understudy::fleet {
namespace {

using comparer::Comparison;
using comparer::Row;
using comparer::RowKind;
using comparer::Verdict;
using Json = nlohmann::ordered_json;

std::string_view name_of(RowKind kind) {
  switch (kind) {
    case RowKind::kClass:
      return "class";
    case RowKind::kGap:
      return "gap";
    case RowKind::kCollective:
      return "collective";
    default:
      return "operator";
  }
}

bool is_part(const Row& row) {
  return row.kind == RowKind::kClass || row.kind == RowKind::kGap ||
         row.kind == RowKind::kOperator || row.kind == RowKind::kCollective;
}

/// The parts with the iteration's own verdict, the largest change first.
std::vector<const Row*> parts_of(const Comparison& comparison, Verdict verdict) {
  std::vector<const Row*> parts;
  for (const Row& row : comparison.rows) {
    if (is_part(row) && row.verdict == verdict && row.change_ms) {
      parts.push_back(&row);
    }
  }
  std::ranges::stable_sort(parts, std::ranges::greater(),
                           [](const Row* row) { return std::abs(*row->change_ms); });
  return parts;
}

std::string text_of(const Row& row) {
  const std::string_view name = row.kind == RowKind::kGap ? "gaps" : std::string_view(row.name);
  return row.ratio ? fmt::format("{} {:.2f} times", name, row.ratio->value) : std::string(name);
}

/// "matmul 1.92 times (aten::mm 1.95 times)".
std::string parts_text(const std::vector<const Row*>& parts) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> classes;
  std::vector<std::string> operators;
  for (const Row* row : parts) {
    auto& list = row->kind == RowKind::kOperator ? operators : classes;
    if (list.size() < kMost) {
      list.push_back(text_of(*row));
    }
  }
  if (classes.empty() && operators.empty()) {
    return "no class by itself: the machine, or all of the program";
  }
  if (operators.empty()) {
    return fmt::format("{}", fmt::join(classes, ", "));
  }
  return fmt::format("{}; operators: {}",
                     classes.empty() ? std::string("no class as a whole")
                                     : fmt::format("{}", fmt::join(classes, ", ")),
                     fmt::join(operators, ", "));
}

Json detail_of(const Comparison& comparison, const std::vector<const Row*>& parts) {
  constexpr std::size_t kMost = 20;
  Json rows = Json::array();
  for (std::size_t i = 0; i < std::min(parts.size(), kMost); ++i) {
    const Row& row = *parts[i];
    rows.push_back({{"kind", name_of(row.kind)},
                    {"name", row.name},
                    {"detail", row.detail},
                    {"change_ms", *row.change_ms},
                    {"ratio", row.ratio ? Json(row.ratio->value) : Json(nullptr)}});
  }
  Json differences = Json::array();
  for (const comparer::EnvironmentDifference& row : comparison.differences) {
    if (row.weight != comparer::Weight::kIncident) {
      differences.push_back({{"field", row.field}, {"before", row.a}, {"now", row.b}});
    }
  }
  return {{"rows", std::move(rows)}, {"environment", std::move(differences)}};
}

bool was_quiet(const et_schema::Report& report) {
  return et_schema::interruptions_per_s(report).value_or(0) <= et_schema::kIdleSwitchesPerS;
}

/// Those of quiet nights, where there are any: one busy night must not veto all that follow.
std::vector<comparer::Run> baseline_of(const std::vector<et_schema::Report>& before) {
  const bool has_quiet = std::ranges::any_of(before, was_quiet);
  std::vector<comparer::Run> runs;
  for (const et_schema::Report& report : before) {
    if (!has_quiet || was_quiet(report)) {
      runs.push_back(comparer::run_of(report, "before"));
    }
  }
  return runs;
}

/// Whether the machine's own speed, by its probe, changed so much in the same direction that no
/// more than `least` of a change is left.
bool is_the_machines(double ratio, const std::optional<comparer::Ratio>& speed_probe,
                     double least) {
  if (!speed_probe) {
    return false;
  }
  const double change = std::log(ratio);
  const double left = change - std::log(speed_probe->value);
  return std::abs(left) <= std::log1p(least) || left * change < 0;
}

/// "; the machine itself 1.20 times", where that matters.
std::string machine_text(const std::optional<comparer::Ratio>& speed_probe) {
  const bool has_moved =
      speed_probe && std::abs(std::log(speed_probe->value)) > std::log1p(kLeastChange);
  return has_moved
             ? fmt::format("; the machine itself {:.2f} times (speed probe)", speed_probe->value)
             : "";
}

}  // namespace

Judgement judge(const std::vector<et_schema::Report>& before, const et_schema::Report& tonight,
                double least) {
  const Comparison comparison =
      comparer::compare(baseline_of(before), {comparer::run_of(tonight, "tonight")});
  const auto iteration = std::ranges::find(comparison.rows, RowKind::kIteration, &Row::kind);
  Judgement judgement;
  if (iteration == comparison.rows.end() || !iteration->ratio) {
    return judgement;
  }
  judgement.ratio = iteration->ratio->value;
  const bool is_large = std::abs(std::log(judgement.ratio)) > std::log1p(least);
  const bool is_slower = iteration->verdict == Verdict::kSlower;
  if (is_large && comparison.was_busy && iteration->verdict != Verdict::kSame) {
    judgement.change = Change::kUnjudged;
    judgement.text = fmt::format(
        "{:.2f} times as long as before, but others interrupted each of our threads {:.0f} times a "
        "second; replay on an idle machine",
        judgement.ratio, comparison.switches_per_s.value_or(0));
    return judgement;
  }
  if (!is_large || (!is_slower && iteration->verdict != Verdict::kFaster)) {
    return judgement;
  }
  if (is_the_machines(judgement.ratio, comparison.speed_probe, least)) {
    judgement.change = Change::kUnjudged;
    judgement.text = fmt::format(
        "{:.2f} times as long as before, but the machine itself took {:.2f} times as long for its "
        "speed probe",
        judgement.ratio, comparison.speed_probe->value);
    return judgement;
  }
  judgement.change = is_slower ? Change::kSlower : Change::kFaster;
  const std::vector<const Row*> parts = parts_of(comparison, iteration->verdict);
  const Json detail = detail_of(comparison, parts);
  judgement.text = fmt::format("{:.2f} times as long as before: {}{}", judgement.ratio,
                               parts_text(parts), machine_text(comparison.speed_probe));
  std::vector<std::string> fields;
  for (const Json& field : detail["environment"]) {
    fields.push_back(fmt::format("{} {} → {}", field["field"].get<std::string>(),
                                 field["before"].get<std::string>(),
                                 field["now"].get<std::string>()));
  }
  if (!fields.empty()) {
    judgement.text += fmt::format("; with it changed {}", fmt::join(fields, ", "));
  }
  judgement.detail = detail.dump(-1, ' ', false, Json::error_handler_t::replace);
  return judgement;
}

}  // namespace understudy::fleet
