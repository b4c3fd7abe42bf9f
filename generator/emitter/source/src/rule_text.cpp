#include <fmt/format.h>

#include <variant>
#include <vector>

#include "argument_text.h"
#include "et_schema/base/overloaded.h"

namespace understudy::emitter {
namespace {

using et_schema::ValueRule;

std::string text(double value) {
  return real_text(value);
}
std::string text(std::int64_t value) {
  return fmt::format("{}", value);
}
std::string text(bool value) {
  return bool_text(value);
}
template <typename Item>
std::string text(const std::vector<Item>& items);
std::string text(const ValueRule::Segment& segment) {
  return list_text({text(segment.count), text(segment.sum)});
}
std::string text(const et_schema::Repeat& repeat) {
  return list_text({text(repeat.times), text(repeat.numbers)});
}
std::string text(const et_schema::ReuseBin& bin) {
  return list_text({text(bin.low), text(bin.high), text(bin.repeats)});
}
template <typename Item>
std::string text(const std::vector<Item>& items) {
  std::vector<std::string> texts;
  for (const Item& item : items) {
    texts.push_back(text(item));
  }
  return list_text(texts);
}

template <typename... Values>
std::string call(const char* name, const Values&... values) {
  return bench_text(name, {text(values)...});
}

}  // namespace

std::string rule_text(const ValueRule& rule) {
  using Rule = ValueRule;
  return std::visit(
      et_schema::Overloaded{
          [](const Rule::Zeros& /*r*/) { return call("zeros"); },
          [](const Rule::Constant& r) { return call("constant", r.value); },
          [](const Rule::Uniform& r) { return call("uniform", r.low, r.high); },
          [](const Rule::Normal& r) { return call("normal", r.mean, r.deviation); },
          [](const Rule::Integers& r) { return call("integers", r.low, r.high, r.distinct); },
          [](const Rule::Offsets& r) { return call("offsets", r.end, r.include_last, r.longest); },
          [](const Rule::Lengths& r) { return call("lengths", r.segments); },
          [](const Rule::Arange& r) { return call("arange", r.start, r.step); },
          [](const Rule::Bernoulli& r) { return call("bernoulli", r.probability); },
          [](const Rule::Mask& r) { return call("mask", r.count); },
          [](const Rule::Targets& r) {
            return call("targets", r.classes, r.ignore_index, r.ignored_share);
          },
          [](const Rule::ReusedIntegers& r) {
            return call("reuse", r.low, r.high, r.reuse.bins, r.reuse.run, r.reuse.sorted);
          },
          [](const Rule::Dominant& r) { return call("dominant", r.diagonal, r.rows); }},
      rule.kind);
}

}  // namespace understudy::emitter
