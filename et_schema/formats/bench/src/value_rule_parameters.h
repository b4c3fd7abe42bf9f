#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// A whole number that files write as a floating one.
template <typename Number>
struct WrittenAsReal {
  Number& number;
};
template <typename Number>
WrittenAsReal(Number&) -> WrittenAsReal<Number>;

template <typename Kind, typename OfRule>
concept KindOf = std::same_as<std::remove_const_t<Kind>, OfRule>;

// for_each_parameter() calls visit(key, parameter) for what a kind of rule has, in the order in
// which files have it. They share few keys, so `high` is a step in one and a number of classes in
// another. A kind without a function here does not compile.

void for_each_parameter(KindOf<ValueRule::Zeros> auto& /*rule*/, auto&& /*visit*/) {}
void for_each_parameter(KindOf<ValueRule::Constant> auto& rule, auto&& visit) {
  visit("a", rule.value);
}
void for_each_parameter(KindOf<ValueRule::Uniform> auto& rule, auto&& visit) {
  visit("a", rule.low);
  visit("b", rule.high);
}
void for_each_parameter(KindOf<ValueRule::Normal> auto& rule, auto&& visit) {
  visit("a", rule.mean);
  visit("b", rule.deviation);
}
void for_each_parameter(KindOf<ValueRule::Integers> auto& rule, auto&& visit) {
  visit("a", WrittenAsReal{rule.distinct});
  visit("low", rule.low);
  visit("high", rule.high);
}
void for_each_parameter(KindOf<ValueRule::Offsets> auto& rule, auto&& visit) {
  visit("low", rule.longest);
  visit("high", rule.end);
  visit("include_last", rule.include_last);
}
void for_each_parameter(KindOf<ValueRule::Lengths> auto& rule, auto&& visit) {
  visit("segments", rule.segments);
}
void for_each_parameter(KindOf<ValueRule::Arange> auto& rule, auto&& visit) {
  visit("low", rule.start);
  visit("high", rule.step);
}
void for_each_parameter(KindOf<ValueRule::Bernoulli> auto& rule, auto&& visit) {
  visit("a", rule.probability);
}
void for_each_parameter(KindOf<ValueRule::Mask> auto& rule, auto&& visit) {
  visit("high", rule.count);
}
void for_each_parameter(KindOf<ValueRule::Targets> auto& rule, auto&& visit) {
  visit("a", rule.ignored_share);
  visit("low", rule.ignore_index);
  visit("high", rule.classes);
}
void for_each_parameter(KindOf<ValueRule::ReusedIntegers> auto& rule, auto&& visit) {
  visit("a", WrittenAsReal{rule.distinct});
  visit("low", rule.low);
  visit("high", rule.high);
  visit("reuse", rule.reuse);  // keys of its own: reuse, run, sorted
}
void for_each_parameter(KindOf<ValueRule::Dominant> auto& rule, auto&& visit) {
  visit("a", rule.diagonal);
  visit("high", rule.rows);
}

}  // namespace understudy::et_schema
