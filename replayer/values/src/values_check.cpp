#include <fmt/format.h>

#include <cmath>
#include <variant>

#include "et_schema/base/error.h"
#include "et_schema/model/reuse.h"
#include "values_store.h"

namespace understudy::replayer {
namespace {

using et_schema::ValueRule;

/// Throws if no content of `numel` elements satisfies the rule.
class Check {
 public:
  Check(const ValueRule& rule, std::int64_t numel) : rule_(rule), numel_(numel) {}

  void operator()(const ValueRule::Zeros& /*rule*/) const {}
  void operator()(const ValueRule::Constant& /*rule*/) const {}
  void operator()(const ValueRule::Uniform& rule) const {
    if (!(rule.low <= rule.high) || !std::isfinite(rule.high - rule.low)) {
      refuse("finite bounds a <= b", fmt::format("[{}, {})", rule.low, rule.high));
    }
  }
  void operator()(const ValueRule::Normal& rule) const {
    if (!std::isfinite(rule.mean) || !std::isfinite(rule.deviation) || rule.deviation < 0) {
      refuse("a finite mean and a deviation that is not negative",
             fmt::format("mean {}, deviation {}", rule.mean, rule.deviation));
    }
  }
  void operator()(const ValueRule::Integers& rule) const {
    if (rule.high <= rule.low) {
      refuse("integers from a range that is not empty",
             fmt::format("[{}, {})", rule.low, rule.high));
    }
  }
  void operator()(const ValueRule::Offsets& rule) const {
    if (rule.end < 0) {
      refuse("offsets up to a number of indices", std::to_string(rule.end));
    }
  }
  void operator()(const ValueRule::Lengths& rule) const {
    const std::string all = fmt::format("segments of {} lengths in all", numel_);
    std::int64_t covered = 0;
    for (const ValueRule::Segment& segment : rule.segments) {
      if (segment.count < 0 || segment.sum < 0 || (segment.count == 0 && segment.sum > 0)) {
        refuse("segments with lengths for their sum",
               fmt::format("{} lengths with sum {}", segment.count, segment.sum));
      }
      if (segment.count > numel_ - covered) {
        refuse(all, "more");
      }
      covered += segment.count;
    }
    if (covered != numel_) {
      refuse(all, std::to_string(covered));
    }
  }
  void operator()(const ValueRule::Arange& /*rule*/) const {}
  void operator()(const ValueRule::Bernoulli& rule) const { check_probability(rule.probability); }
  void operator()(const ValueRule::Mask& rule) const {
    if (rule.count < 0 || rule.count > numel_) {
      refuse(fmt::format("a mask with 0 to {} elements set", numel_), std::to_string(rule.count));
    }
  }
  void operator()(const ValueRule::Targets& rule) const {
    if (rule.classes <= 0) {
      refuse("at least one class", std::to_string(rule.classes));
    }
    check_probability(rule.ignored_share);
  }
  void operator()(const ValueRule::ReusedIntegers& rule) const {
    if (const auto problem = et_schema::find_problem(rule.reuse)) {
      refuse(problem->expected, problem->got);
    }
  }
  void operator()(const ValueRule::Dominant& rule) const {
    if (rule.rows < 1 || numel_ % rule.rows != 0 || (numel_ / rule.rows) % rule.rows != 0) {
      refuse(fmt::format("square matrices in {} elements", numel_),
             fmt::format("{} rows", rule.rows));
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& expected, const std::string& got) const {
    refuse_rule(rule_, expected, got);
  }
  void check_probability(double probability) const {
    if (!(probability >= 0 && probability <= 1)) {
      refuse("a probability from 0 to 1", fmt::format("{}", probability));
    }
  }

  const ValueRule& rule_;
  std::int64_t numel_;
};

}  // namespace

void refuse_rule(const ValueRule& rule, const std::string& expected, const std::string& got) {
  et_schema::ErrorContext context;
  context.field = rule.why.empty() ? "value" : fmt::format("value ({})", rule.why);
  context.expected = expected;
  context.got = got;
  context.hint = "generate the benchmark again from its trace";
  throw et_schema::bad_input("a value rule that no content can fulfil", context);
}

void check_rule(const ValueRule& rule, std::int64_t numel) {
  std::visit(Check(rule, numel), rule.kind);
}

}  // namespace understudy::replayer
