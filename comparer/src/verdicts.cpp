#include "verdicts.h"

#include <algorithm>
#include <cmath>

#include "comparer/statistics.h"

namespace understudy::comparer {
namespace {

/// Levels of the two families: together a comparison of identical runs has a false verdict in at
/// most 5 of 100.
constexpr double kLevelOfClasses = 0.04;
constexpr double kLevelOfOperators = 0.01;
/// How a family's level is divided between the two ways to a verdict.
constexpr double kPartOfRest = 0.8;
constexpr double kPartOfMachine = 0.2;

/// Smaller changes are none, however sure.
const double kLeastChange = std::log(1.01);
/// A row that can hold no more than this share of the step is not worth a test, nor a doubt.
constexpr double kNegligible = 0.002;

bool is_of_classes(RowKind kind) {
  return kind != RowKind::kOperator && kind != RowKind::kCollective;
}

/// Probability of as large a change beside the rest of the run by noise alone. 1 where the clock
/// does not show it too, then the rest may have changed in its place, or where one of them is too
/// small to matter. How sure the clock's change is, is no question: the machine's state moves it,
/// and is what the rest takes out.
double p_of_confirmed(const Evidence& evidence) {
  if (!evidence.rest || evidence.has_few_samples) {
    return 1;
  }
  const double clock = evidence.clock->value;
  const double rest = evidence.rest->value;
  const bool is_confirmed =
      clock * rest > 0 && std::min(std::abs(clock), std::abs(rest)) >= kLeastChange;
  return is_confirmed ? evidence.rest->p() : 1;
}

/// The same for a change that is more than the machine's state explains.
double p_of_machine(const Evidence& evidence) {
  return evidence.machine && std::abs(evidence.machine->value) >= kLeastChange
             ? evidence.machine->p()
             : 1;
}

double p_of(const Evidence& evidence) {
  return std::min(
      {1.0, p_of_confirmed(evidence) / kPartOfRest, p_of_machine(evidence) / kPartOfMachine});
}

bool is_within(const Uncertain& value, double margin) {
  return value.value + value.half_interval() < std::log1p(margin) &&
         value.value - value.half_interval() > std::log1p(-margin);
}

/// The difference, at its largest, as a share of A's step.
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

std::string why_unsure(const Evidence& evidence) {
  if (evidence.has_few_samples) {
    return "few samples";
  }
  const bool is_clear = std::abs(evidence.clock->value) > evidence.clock->half_interval();
  if (!is_clear) {
    return "noise";
  }
  if (!evidence.rest) {
    return "machine state";  // as large a change can be one
  }
  return p_of_confirmed(evidence) == 1 ? "as the rest" : "noise";
}

void judge_family(std::vector<Row>& rows, const std::vector<Evidence>& evidence, bool of_classes) {
  std::vector<std::size_t> members;
  std::vector<double> p_values;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_tested = evidence[i].clock && evidence[i].share >= kNegligible;
    if (is_of_classes(rows[i].kind) == of_classes && is_tested) {
      members.push_back(i);
      p_values.push_back(p_of(evidence[i]));
    }
  }
  const std::vector<double> adjusted = holm(p_values);
  const double level = of_classes ? kLevelOfClasses : kLevelOfOperators;
  for (std::size_t k = 0; k < members.size(); ++k) {
    Row& row = rows[members[k]];
    row.p = adjusted[k];
    if (adjusted[k] <= level) {
      const bool is_slower = evidence[members[k]].clock->value > 0;
      row.verdict = is_slower ? Verdict::kSlower : Verdict::kFaster;
    }
  }
}

}  // namespace

void judge(std::vector<Row>& rows, const std::vector<Evidence>& evidence,
           const CompareOptions& options) {
  judge_family(rows, evidence, true);
  judge_family(rows, evidence, false);
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
