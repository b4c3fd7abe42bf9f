#include "et_schema/model/value_problem.h"

#include <fmt/format.h>

#include <cmath>
#include <variant>

#include "et_schema/model/reuse.h"

namespace understudy::et_schema {
namespace {

using Found = std::optional<RuleProblem>;

Found check_share(double probability) {
  return probability >= 0 && probability <= 1
             ? Found()
             : RuleProblem{"a probability from 0 to 1", fmt::format("{}", probability)};
}

/// Checks a rule for this many elements.
struct RuleCheck {
  std::int64_t elements;

  template <typename AnyContent>
  Found operator()(const AnyContent& /*rule*/) const {
    return {};
  }
  Found operator()(const ValueRule::Uniform& rule) const {
    return rule.low <= rule.high && std::isfinite(rule.high - rule.low)
               ? Found()
               : RuleProblem{"finite bounds a <= b", fmt::format("[{}, {})", rule.low, rule.high)};
  }
  Found operator()(const ValueRule::Normal& rule) const {
    return std::isfinite(rule.mean) && std::isfinite(rule.deviation) && rule.deviation >= 0
               ? Found()
               : RuleProblem{"a finite mean and a deviation that is not negative",
                             fmt::format("mean {}, deviation {}", rule.mean, rule.deviation)};
  }
  Found operator()(const ValueRule::Integers& rule) const {
    return rule.low < rule.high ? Found()
                                : RuleProblem{"integers from a range that is not empty",
                                              fmt::format("[{}, {})", rule.low, rule.high)};
  }
  Found operator()(const ValueRule::Offsets& rule) const {
    return rule.end >= 0
               ? Found()
               : RuleProblem{"offsets up to a number of indices", std::to_string(rule.end)};
  }
  Found operator()(const ValueRule::Lengths& rule) const {
    const std::string all = fmt::format("segments of {} lengths in all", elements);
    std::int64_t covered = 0;
    for (const ValueRule::Segment& segment : rule.segments) {
      if (segment.count < 0 || segment.sum < 0 || (segment.count == 0 && segment.sum > 0)) {
        return RuleProblem{"segments with lengths for their sum",
                           fmt::format("{} lengths with sum {}", segment.count, segment.sum)};
      }
      if (segment.count > elements - covered) {
        return RuleProblem{all, "more"};
      }
      covered += segment.count;
    }
    return covered == elements ? Found() : RuleProblem{all, std::to_string(covered)};
  }
  Found operator()(const ValueRule::Bernoulli& rule) const { return check_share(rule.probability); }
  Found operator()(const ValueRule::Mask& rule) const {
    return rule.count >= 0 && rule.count <= elements
               ? Found()
               : RuleProblem{fmt::format("a mask with 0 to {} elements set", elements),
                             std::to_string(rule.count)};
  }
  Found operator()(const ValueRule::Targets& rule) const {
    return rule.classes > 0 ? check_share(rule.ignored_share)
                            : RuleProblem{"at least one class", std::to_string(rule.classes)};
  }
  Found operator()(const ValueRule::ReusedIntegers& rule) const {
    const auto problem = find_problem(rule.reuse);
    return problem ? RuleProblem{problem->expected, problem->got} : Found();
  }
  Found operator()(const ValueRule::Dominant& rule) const {
    const bool fits =
        rule.rows >= 1 && elements % rule.rows == 0 && (elements / rule.rows) % rule.rows == 0;
    return fits ? Found()
                : RuleProblem{fmt::format("square matrices in {} elements", elements),
                              fmt::format("{} rows", rule.rows)};
  }
};

}  // namespace

std::optional<RuleProblem> find_problem(const ValueRule& rule, std::int64_t elements) {
  return std::visit(RuleCheck{elements}, rule.kind);
}

}  // namespace understudy::et_schema
