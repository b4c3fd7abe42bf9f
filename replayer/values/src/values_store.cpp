#include "values_store.h"

#include <fmt/format.h>

#include "replayer/values/store.h"

namespace understudy::replayer {
namespace {

[[noreturn]] void refuse(const et_schema::ValueRule& rule, at::ScalarType dtype, double number) {
  refuse_rule(rule, fmt::format("numbers that fit {}", c10::toString(dtype)),
              fmt::format("{}", number));
}

}  // namespace

void store_draws(const Draws& draws, const et_schema::ValueRule& rule, std::int64_t first,
                 std::int64_t count, void* data, at::ScalarType dtype) {
  try {
    store(draws, rule, first, count, data, dtype);
  } catch (const DoesNotFit& error) {
    refuse(rule, dtype, error.number);
  }
}

void fill_by_rule(const at::Tensor& target, const et_schema::ValueRule& rule, ValueKey key) {
  check_rule(rule, target.numel());
  try {
    fill_once(target, rule, key);
  } catch (const DoesNotFit& error) {
    refuse(rule, target.scalar_type(), error.number);
  }
}

}  // namespace understudy::replayer
