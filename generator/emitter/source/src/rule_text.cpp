#include <fmt/format.h>

#include <variant>
#include <vector>

#include "argument_text.h"

namespace understudy::emitter {
namespace {

using et_schema::ValueRule;

/// Writes the call that makes a rule of each kind.
class RuleWriter {
 public:
  std::string operator()(const ValueRule::Zeros& /*rule*/) const { return call("zeros"); }
  std::string operator()(const ValueRule::Constant& rule) const {
    return call("constant", rule.value);
  }
  std::string operator()(const ValueRule::Uniform& rule) const {
    return call("uniform", rule.low, rule.high);
  }
  std::string operator()(const ValueRule::Normal& rule) const {
    return call("normal", rule.mean, rule.deviation);
  }
  std::string operator()(const ValueRule::Integers& rule) const {
    return rule.distinct > 0
               ? call("integers", rule.low, rule.high, static_cast<double>(rule.distinct))
               : call("integers", rule.low, rule.high);
  }
  std::string operator()(const ValueRule::Offsets& rule) const {
    return rule.longest > 0 ? call("offsets", rule.end, rule.include_last, rule.longest)
                            : call("offsets", rule.end, rule.include_last);
  }
  std::string operator()(const ValueRule::Lengths& rule) const {
    return call("lengths", rule.segments);
  }
  std::string operator()(const ValueRule::Arange& rule) const {
    return call("arange", rule.start, rule.step);
  }
  std::string operator()(const ValueRule::Bernoulli& rule) const {
    return call("bernoulli", rule.probability);
  }
  std::string operator()(const ValueRule::Mask& rule) const { return call("mask", rule.count); }
  std::string operator()(const ValueRule::Targets& rule) const {
    return call("targets", rule.classes, rule.ignore_index, rule.ignored_share);
  }
  std::string operator()(const ValueRule::ReusedIntegers& rule) const {
    return call("reuse", rule.low, rule.high, rule.reuse.bins, rule.reuse.run, rule.reuse.sorted);
  }
  std::string operator()(const ValueRule::Dominant& rule) const {
    return call("dominant", rule.diagonal, rule.rows);
  }

 private:
  template <typename... Values>
  [[nodiscard]] std::string call(const char* name, const Values&... values) const {
    return bench_text(name, {text(values)...});
  }

  [[nodiscard]] std::string text(double value) const { return real_text(value); }
  [[nodiscard]] std::string text(std::int64_t value) const { return fmt::format("{}", value); }
  [[nodiscard]] std::string text(bool value) const { return bool_text(value); }
  [[nodiscard]] std::string text(const ValueRule::Segment& segment) const {
    return list_text({text(segment.count), text(segment.sum)});
  }
  [[nodiscard]] std::string text(const et_schema::Repeat& repeat) const {
    return list_text({text(repeat.times), text(repeat.numbers)});
  }
  [[nodiscard]] std::string text(const et_schema::ReuseBin& bin) const {
    return list_text({text(bin.low), text(bin.high), text(bin.repeats)});
  }
  template <typename Item>
  [[nodiscard]] std::string text(const std::vector<Item>& items) const {
    std::vector<std::string> texts;
    for (const Item& item : items) {
      texts.push_back(text(item));
    }
    return list_text(texts);
  }
};

}  // namespace

std::string rule_text(const ValueRule& rule) {
  return std::visit(RuleWriter(), rule.kind);
}

}  // namespace understudy::emitter
