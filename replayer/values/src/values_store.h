#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "et_schema/model/value_rule.h"
#include "replayer/values/random.h"

namespace understudy::replayer {

class Draws;

/// Throws Error (bad input) if no content of `numel` elements satisfies the rule.
void check_rule(const et_schema::ValueRule& rule, std::int64_t numel);

/// Throws the Error of an unsatisfiable rule.
[[noreturn]] void refuse_rule(const et_schema::ValueRule& rule, const std::string& expected,
                              const std::string& got);

// store() and fill_once() of store.h, compiled to produce equal bytes everywhere. They throw Error
// (bad input) if integers exceed the dtype; fill_by_rule() also throws what check_rule() throws.
void store_draws(const Draws& draws, const et_schema::ValueRule& rule, std::int64_t first,
                 std::int64_t count, void* data, at::ScalarType dtype);
void fill_by_rule(const at::Tensor& target, const et_schema::ValueRule& rule, ValueKey key);

}  // namespace understudy::replayer
