#include "verdicts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "fleet/comparer/statistics.h"

namespace understudy::comparer {
namespace {

/// Families of rows that are tested together. With these levels, a comparison of identical runs has
/// a false verdict in at most 5 of 100 cases.
enum class Family : std::uint8_t { kStep, kClasses, kOperators };
constexpr std::array kLevels = {0.005, 0.035, 0.01};
/// Division of a family's level between the two tests that can give a verdict.
constexpr double kPartOfRest = 0.8;
constexpr double kPartOfMachine = 0.2;

/// Smaller changes do not count, however certain they are.
const double kLeastChange = std::log(1.01);
/// Rows that can be at most this share of the step are not tested, and count as SAME.
constexpr double kNegligible = 0.002;

Family family_of(RowKind kind) {
  switch (kind) {
    case RowKind::kIteration:
    case RowKind::kCommon:
      return Family::kStep;
    case RowKind::kClass:
    case RowKind::kGap:
      return Family::kClasses;
    default:
      return Family::kOperators;
  }
}

bool is_by_the_clock(const Evidence& evidence) {
  const double clock = evidence.clock->value;
  return clock * evidence.rest->value > 0 && std::abs(clock) >= kLeastChange;
}

/// Returns the probability that noise alone causes the row's change relative to the rest of the
/// run; 1 if the change is too small to matter. If the rest changed by more than the machine's
/// state explains, the clock must show the change too: otherwise the rest may have changed instead
/// of the row.
double p_of_rest(const Evidence& evidence) {
  if (!evidence.rest || evidence.has_few_samples) {
    return 1;
  }
  const bool is_confirmed = evidence.rest_is_machine || is_by_the_clock(evidence);
  return is_confirmed && std::abs(evidence.rest->value) >= kLeastChange ? evidence.rest->p() : 1;
}

/// Like p_of_rest(), for a change beyond what the machine's state explains.
double p_of_machine(const Evidence& evidence) {
  return evidence.machine && std::abs(evidence.machine->value) >= kLeastChange
             ? evidence.machine->p()
             : 1;
}

bool is_within(const Uncertain& value, double margin) {
  return value.value + value.half_interval() < std::log1p(margin) &&
         value.value - value.half_interval() > std::log1p(-margin);
}

/// Returns the largest possible difference, as a share of A's step.
double most_of_step(const Evidence& evidence) {
  const Uncertain& clock = *evidence.clock;
  const double half = clock.half_interval();
  return evidence.a_share * std::max(std::abs(std::expm1(clock.value + half)),
                                     std::abs(std::expm1(clock.value - half)));
}

bool is_same(const Evidence& evidence, const CompareOptions& options) {
  if (evidence.has_few_samples) {
    return false;
  }
  if (evidence.share < kNegligible || most_of_step(evidence) < kNegligible) {
    return true;
  }
  return is_within(*evidence.clock, options.margin) &&
         (!evidence.rest || is_within(*evidence.rest, options.margin));
}

bool is_clear(const Uncertain& value) {
  return std::abs(value.value) > value.half_interval();
}

std::string why_unsure(const Evidence& evidence) {
  if (evidence.has_few_samples) {
    return "few samples";
  }
  if (!is_clear(*evidence.clock)) {
    return "noise";
  }
  if (!evidence.rest) {
    return "machine state";  // the machine's state could cause such a change
  }
  return is_clear(*evidence.rest) ? "noise" : "as the rest";
}

/// Sets the verdict for a change that is certain enough.
void name_change(const Evidence& evidence, Row& row) {
  const bool by_rest =
      evidence.rest && p_of_rest(evidence) / kPartOfRest <= p_of_machine(evidence) / kPartOfMachine;
  const double change = (by_rest ? evidence.rest : evidence.clock)->value;
  row.verdict = change > 0 ? Verdict::kSlower : Verdict::kFaster;
  row.why = by_rest && !is_by_the_clock(evidence) ? "beside the rest" : "";
}

/// Judges the rows of a family. Each row gets a part of the level in proportion to its share of the
/// step.
void judge_family(Family family, std::vector<Row>& rows, const std::vector<Evidence>& evidence) {
  std::vector<std::size_t> members;
  std::vector<double> p_values;
  std::vector<double> shares;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_tested = evidence[i].clock && evidence[i].share >= kNegligible;
    if (family_of(rows[i].kind) == family && is_tested) {
      members.push_back(i);
      p_values.push_back(p_of(evidence[i]));
      shares.push_back(evidence[i].share);
    }
  }
  const std::vector<double> adjusted = holm(p_values, shares);
  for (std::size_t k = 0; k < members.size(); ++k) {
    Row& row = rows[members[k]];
    row.p = adjusted[k];
    if (adjusted[k] <= kLevels[static_cast<std::size_t>(family)]) {
      name_change(evidence[members[k]], row);
    }
  }
}

}  // namespace

double p_of(const Evidence& evidence) {
  if (!evidence.rest) {
    return p_of_machine(evidence);
  }
  return std::min(
      {1.0, p_of_rest(evidence) / kPartOfRest, p_of_machine(evidence) / kPartOfMachine});
}

void judge(std::vector<Row>& rows, const std::vector<Evidence>& evidence,
           const CompareOptions& options) {
  for (const Family family : {Family::kStep, Family::kClasses, Family::kOperators}) {
    judge_family(family, rows, evidence);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row& row = rows[i];
    if (!evidence[i].clock || row.verdict != Verdict::kUnsure) {
      continue;
    }
    if (is_same(evidence[i], options)) {
      row.verdict = Verdict::kSame;
    } else {
      row.why = why_unsure(evidence[i]);
    }
  }
}

}  // namespace understudy::comparer
