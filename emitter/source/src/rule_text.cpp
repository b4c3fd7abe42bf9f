#include "rule_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "et_schema/support/assert.h"

namespace understudy::emitter {
namespace {

using et_schema::ValueRule;
using et_schema::ValueRuleKind;

class RuleWriter {
 public:
  RuleWriter(const ValueRule& rule, Dialect dialect) : rule_(rule), dialect_(dialect) {}

  [[nodiscard]] std::string write() const {
    switch (rule_.kind) {
      case ValueRuleKind::kZeros:
        return call("zeros", {});
      case ValueRuleKind::kConstant:
        return call("constant", {real(rule_.a)});
      case ValueRuleKind::kUniform:
        return call("uniform", {real(rule_.a), real(rule_.b)});
      case ValueRuleKind::kNormal:
        return call("normal", {real(rule_.a), real(rule_.b)});
      case ValueRuleKind::kIntegers:
        return rule_.a > 0
                   ? call("integers", {integer(rule_.low), integer(rule_.high), real(rule_.a)})
                   : call("integers", {integer(rule_.low), integer(rule_.high)});
      case ValueRuleKind::kOffsets:
        return rule_.low > 0 ? call("offsets", {integer(rule_.high), flag(rule_.include_last),
                                                integer(rule_.low)})
                             : call("offsets", {integer(rule_.high), flag(rule_.include_last)});
      case ValueRuleKind::kLengths:
        return call("lengths", {segments()});
      case ValueRuleKind::kArange:
        return call("arange", {integer(rule_.low), integer(rule_.high)});
      case ValueRuleKind::kBernoulli:
        return call("bernoulli", {real(rule_.a)});
      case ValueRuleKind::kMask:
        return call("mask", {integer(rule_.high)});
      case ValueRuleKind::kTargets:
        return call("targets", {integer(rule_.high), integer(rule_.low), real(rule_.a)});
      case ValueRuleKind::kReuse:
        return call("reuse", {integer(rule_.low), integer(rule_.high), bins(),
                              integer(rule_.reuse.run), flag(rule_.reuse.sorted)});
      case ValueRuleKind::kDominant:
        return call("dominant", {real(rule_.a), integer(rule_.high)});
    }
    UNDERSTUDY_ASSERT(false);
  }

 private:
  [[nodiscard]] bool is_python() const { return dialect_ == Dialect::kPython; }
  [[nodiscard]] std::string call(const char* name,
                                 const std::vector<std::string>& arguments) const {
    return fmt::format("bench{}{}({})", is_python() ? "." : "::", name, fmt::join(arguments, ", "));
  }
  [[nodiscard]] std::string real(double value) const { return real_text(value, dialect_); }
  [[nodiscard]] static std::string integer(std::int64_t value) { return fmt::format("{}", value); }
  [[nodiscard]] std::string flag(bool value) const {
    return is_python() ? (value ? "True" : "False") : (value ? "true" : "false");
  }
  [[nodiscard]] std::string list(const std::vector<std::string>& items) const {
    return is_python() ? fmt::format("[{}]", fmt::join(items, ", "))
                       : fmt::format("{{{}}}", fmt::join(items, ", "));
  }

  [[nodiscard]] std::string segments() const {
    std::vector<std::string> items;
    for (const ValueRule::Segment& segment : rule_.segments) {
      items.push_back(list({integer(segment.count), integer(segment.sum)}));
    }
    return list(items);
  }

  [[nodiscard]] std::string bins() const {
    std::vector<std::string> items;
    for (const et_schema::ReuseBin& bin : rule_.reuse.bins) {
      std::vector<std::string> repeats;
      for (const et_schema::Repeat& repeat : bin.repeats) {
        repeats.push_back(list({integer(repeat.times), integer(repeat.numbers)}));
      }
      items.push_back(list({integer(bin.low), integer(bin.high), list(repeats)}));
    }
    return list(items);
  }

  const ValueRule& rule_;
  Dialect dialect_;
};

}  // namespace

std::string rule_text(const ValueRule& rule, Dialect dialect) {
  return RuleWriter(rule, dialect).write();
}

}  // namespace understudy::emitter
