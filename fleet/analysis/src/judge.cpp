#include "fleet/analysis/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "et_schema/model/measurement.h"
#include "fleet/comparer/compare.h"

namespace understudy::fleet {
namespace {

using comparer::Comparison;
using comparer::RowKind;
using comparer::Verdict;
using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> kChanges = {"none", "slower", "faster", "unjudged"};

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

bool is_part(const comparer::Row& row) {
  return row.kind == RowKind::kClass || row.kind == RowKind::kGap ||
         row.kind == RowKind::kOperator || row.kind == RowKind::kCollective;
}

/// Returns the parts with the iteration's verdict, the largest change first.
std::vector<const comparer::Row*> parts_of(const Comparison& comparison, Verdict verdict) {
  std::vector<const comparer::Row*> parts;
  for (const comparer::Row& row : comparison.rows) {
    if (is_part(row) && row.verdict == verdict && row.change_ms) {
      parts.push_back(&row);
    }
  }
  std::ranges::stable_sort(parts, std::ranges::greater(),
                           [](const comparer::Row* row) { return std::abs(*row->change_ms); });
  return parts;
}

constexpr std::string_view kBesideRest = "beside the rest";

std::string text_of(const comparer::Row& row) {
  const std::string_view name = row.kind == RowKind::kGap ? "gaps" : std::string_view(row.name);
  if (row.why == kBesideRest && row.beside_rest) {
    return fmt::format("{} {:.2f} times {}", name, row.beside_rest->value, kBesideRest);
  }
  return row.ratio ? fmt::format("{} {:.2f} times", name, row.ratio->value) : std::string(name);
}

/// Returns a change's 95 % interval, without the machine's own change if that change is known.
const et_schema::Interval& interval_of(const comparer::Row& row) {
  return row.beside_rest ? *row.beside_rest : *row.ratio;
}

/// Upper bounds of how much longer the slower parts take in total, and how much shorter the faster
/// ones, as shares of the earlier step. Parts are the classes and the gap, if `is_counted` holds.
struct Cost {
  double longer = 0;
  double shorter = 0;
};
template <typename IsCounted>
Cost cost_of(const Comparison& comparison, IsCounted is_counted) {
  Cost cost;
  double step_ms = 0;
  for (const comparer::Row& row : comparison.rows) {
    const bool is_of_step = row.kind == RowKind::kClass || row.kind == RowKind::kGap;
    if (!is_of_step || !row.a_ms) {
      continue;
    }
    step_ms += *row.a_ms;
    if (row.ratio && is_counted(row)) {
      const et_schema::Interval& change = interval_of(row);
      (change.value > 1 ? cost.longer : cost.shorter) +=
          *row.a_ms * (change.value > 1 ? change.high - 1 : 1 - change.low);
    }
  }
  return step_ms > 0 ? Cost{cost.longer / step_ms, cost.shorter / step_ms} : Cost{};
}

/// Returns true if the iteration's change may reach `least`. The end of the interval decides, not
/// its middle: otherwise half of all changes of exactly that size would go unreported.
bool may_be_large(const comparer::Row& iteration, double least) {
  const et_schema::Interval& by_clock = *iteration.ratio;
  const et_schema::Interval& beside_clock = interval_of(iteration);
  return by_clock.value > 1 ? std::max(by_clock.high, beside_clock.high) > 1 + least
                            : std::min(by_clock.low, beside_clock.low) < 1 / (1 + least);
}

/// "matmul 1.92 times (aten::mm 1.95 times)".
std::string parts_text(const std::vector<const comparer::Row*>& parts) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> classes;
  std::vector<std::string> operators;
  for (const comparer::Row* row : parts) {
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

Json detail_of(const Comparison& comparison, const std::vector<const comparer::Row*>& parts) {
  constexpr std::size_t kMost = 20;
  Json rows = Json::array();
  for (std::size_t i = 0; i < std::min(parts.size(), kMost); ++i) {
    const comparer::Row& row = *parts[i];
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

/// Returns true if the machine's speed, by its probe, changed in the same direction and explains at
/// least half of the change, and no more than `least` is left.
bool is_the_machines(double ratio, const std::optional<et_schema::Interval>& speed_probe,
                     double least) {
  if (!speed_probe) {
    return false;
  }
  const double change = std::log(ratio);
  const double left = change - std::log(speed_probe->value);
  return left * change < 0 || std::abs(left) <= std::min(std::log1p(least), std::abs(change) / 2);
}

/// "; the machine itself 1.20 times" if its speed changed notably.
std::string machine_text(const std::optional<et_schema::Interval>& speed_probe) {
  const bool has_moved =
      speed_probe && std::abs(std::log(speed_probe->value)) > std::log1p(kLeastChange);
  return has_moved
             ? fmt::format("; the machine itself {:.2f} times (speed probe)", speed_probe->value)
             : "";
}

bool is_shown(const comparer::Row& row) {
  return row.verdict == Verdict::kSlower || row.verdict == Verdict::kFaster;
}

/// Returns the direction in which classes changed by more than `least` of the step; kUnsure if in
/// neither. The step's time may hide such changes if the machine's state differs.
Verdict change_of_classes(const Comparison& comparison, double least) {
  const Cost cost = cost_of(comparison, is_shown);
  return cost.longer > least    ? Verdict::kSlower
         : cost.shorter > least ? Verdict::kFaster
                                : Verdict::kUnsure;
}

/// Returns true if other programs' work is the only reason why a change of that size is not shown.
bool is_hidden_by_others(const Comparison& comparison, const comparer::Row& iteration,
                         double least) {
  const bool is_large = std::abs(std::log(iteration.ratio->value)) > std::log1p(least);
  const Cost vetoed =
      cost_of(comparison, [](const comparer::Row& row) { return row.why == "busy"; });
  return comparison.was_busy && ((is_large && iteration.verdict != Verdict::kSame) ||
                                 std::max(vetoed.longer, vetoed.shorter) > least);
}

/// "others interrupted each of our threads 300 times a second; replay on an idle machine"
std::string text_of_others(const et_schema::Report& tonight) {
  return fmt::format(
      "others interrupted each of our threads {:.0f} times a second; replay on an idle machine",
      et_schema::interruptions_per_s(tonight).value_or(0));
}

}  // namespace

std::string_view to_string(Change change) {
  return kChanges.at(static_cast<std::size_t>(change));
}

std::optional<Change> change_from_string(std::string_view name) {
  const auto found = std::ranges::find(kChanges, name);
  return found == kChanges.end() ? std::nullopt
                                 : std::optional(static_cast<Change>(found - kChanges.begin()));
}

bool was_quiet(const et_schema::Report& report) {
  return et_schema::interruptions_per_s(report).value_or(0) <= et_schema::kIdleSwitchesPerS;
}

Judgement judge(const std::vector<et_schema::Report>& before, const et_schema::Report& tonight,
                double least) {
  Judgement judgement;
  if (before.empty()) {
    judgement.change = was_quiet(tonight) ? Change::kNone : Change::kUnjudged;
    judgement.text = "no night before to hold it against, and " + text_of_others(tonight);
    return judgement;
  }
  std::vector<comparer::Run> runs;
  for (const et_schema::Report& report : before) {
    runs.push_back(comparer::run_of(report, "before"));
  }
  const Comparison comparison = comparer::compare(runs, {comparer::run_of(tonight, "tonight")});
  const auto iteration =
      std::ranges::find(comparison.rows, RowKind::kIteration, &comparer::Row::kind);
  if (iteration == comparison.rows.end() || !iteration->ratio) {
    return judgement;
  }
  judgement.ratio = iteration->ratio->value;
  if (is_hidden_by_others(comparison, *iteration, least)) {
    judgement.change = Change::kUnjudged;
    judgement.text = fmt::format("{:.2f} times as long as before, but {}", judgement.ratio,
                                 text_of_others(tonight));
    return judgement;
  }
  const bool is_of_step = is_shown(*iteration) && may_be_large(*iteration, least);
  if (is_of_step && is_the_machines(judgement.ratio, comparison.speed_probe, least)) {
    judgement.change = Change::kUnjudged;
    judgement.text = fmt::format(
        "{:.2f} times as long as before, but the machine itself took {:.2f} times as long for its "
        "speed probe",
        judgement.ratio, comparison.speed_probe->value);
    return judgement;
  }
  Verdict verdict = change_of_classes(comparison, least);
  if (verdict == Verdict::kUnsure && is_of_step) {
    verdict = iteration->verdict;
  }
  if (verdict == Verdict::kUnsure) {
    return judgement;
  }
  const bool is_slower = verdict == Verdict::kSlower;
  judgement.change = is_slower ? Change::kSlower : Change::kFaster;
  const std::vector<const comparer::Row*> parts = parts_of(comparison, verdict);
  judgement.detail = detail_of(comparison, parts);
  judgement.text = fmt::format("{:.2f} times as long as before: {}{}", judgement.ratio,
                               parts_text(parts), machine_text(comparison.speed_probe));
  std::vector<std::string> fields;
  for (const Json& field : judgement.detail["environment"]) {
    fields.push_back(fmt::format("{} {} → {}", field["field"].get<std::string>(),
                                 field["before"].get<std::string>(),
                                 field["now"].get<std::string>()));
  }
  if (!fields.empty()) {
    judgement.text += fmt::format("; with it changed {}", fmt::join(fields, ", "));
  }
  return judgement;
}

Judgement confirmed(const Judgement& first, const Judgement& again) {
  if (again.change == first.change || again.change == Change::kUnjudged) {
    return again;
  }
  const bool is_still_unjudged = first.change == Change::kUnjudged && again.change != Change::kNone;
  return is_still_unjudged ? first : Judgement{};
}

}  // namespace understudy::fleet
