#include "rule_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <variant>
#include <vector>

namespace understudy::emitter {
namespace {

using et_schema::ValueRule;

/// The call that makes a rule of each kind.
class RuleWriter {
 public:
  explicit RuleWriter(Dialect dialect) : dialect_(dialect) {}

  [[nodiscard]] std::string operator()(const ValueRule::Zeros& /*rule*/) const {
    return call("zeros", {});
  }
  [[nodiscard]] std::string operator()(const ValueRule::Constant& rule) const {
    return call("constant", {real(rule.value)});
  }
  [[nodiscard]] std::string operator()(const ValueRule::Uniform& rule) const {
    return call("uniform", {real(rule.low), real(rule.high)});
  }
  [[nodiscard]] std::string operator()(const ValueRule::Normal& rule) const {
    return call("normal", {real(rule.mean), real(rule.deviation)});
  }
  [[nodiscard]] std::string operator()(const ValueRule::Integers& rule) const {
    std::vector<std::string> arguments = {integer(rule.low), integer(rule.high)};
    if (rule.distinct > 0) {
      arguments.push_back(real(static_cast<double>(rule.distinct)));
    }
    return call("integers", arguments);
  }
  [[nodiscard]] std::string operator()(const ValueRule::Offsets& rule) const {
    std::vector<std::string> arguments = {integer(rule.end), flag(rule.include_last)};
    if (rule.longest > 0) {
      arguments.push_back(integer(rule.longest));
    }
    return call("offsets", arguments);
  }
  [[nodiscard]] std::string operator()(const ValueRule::Lengths& rule) const {
    return call("lengths", {segments(rule.segments)});
  }
  [[nodiscard]] std::string operator()(const ValueRule::Arange& rule) const {
    return call("arange", {integer(rule.start), integer(rule.step)});
  }
  [[nodiscard]] std::string operator()(const ValueRule::Bernoulli& rule) const {
    return call("bernoulli", {real(rule.probability)});
  }
  [[nodiscard]] std::string operator()(const ValueRule::Mask& rule) const {
    return call("mask", {integer(rule.count)});
  }
  [[nodiscard]] std::string operator()(const ValueRule::Targets& rule) const {
    return call("targets",
                {integer(rule.classes), integer(rule.ignore_index), real(rule.ignored_share)});
  }
  [[nodiscard]] std::string operator()(const ValueRule::ReusedIntegers& rule) const {
    return call("reuse", {integer(rule.low), integer(rule.high), bins(rule.reuse.bins),
                          integer(rule.reuse.run), flag(rule.reuse.sorted)});
  }
  [[nodiscard]] std::string operator()(const ValueRule::Dominant& rule) const {
    return call("dominant", {real(rule.diagonal), integer(rule.rows)});
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

  [[nodiscard]] std::string segments(const std::vector<ValueRule::Segment>& all) const {
    std::vector<std::string> items;
    for (const ValueRule::Segment& segment : all) {
      items.push_back(list({integer(segment.count), integer(segment.sum)}));
    }
    return list(items);
  }

  [[nodiscard]] std::string bins(const std::vector<et_schema::ReuseBin>& all) const {
    std::vector<std::string> items;
    for (const et_schema::ReuseBin& bin : all) {
      std::vector<std::string> repeats;
      for (const et_schema::Repeat& repeat : bin.repeats) {
        repeats.push_back(list({integer(repeat.times), integer(repeat.numbers)}));
      }
      items.push_back(list({integer(bin.low), integer(bin.high), list(repeats)}));
    }
    return list(items);
  }

  Dialect dialect_;
};

}  // namespace

std::string rule_text(const ValueRule& rule, Dialect dialect) {
  return std::visit(RuleWriter(dialect), rule.kind);
}

}  // namespace understudy::emitter
