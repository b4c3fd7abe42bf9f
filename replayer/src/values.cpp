#include "replayer/values.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cmath>

#include "values_device.h"
#include "values_store.h"

namespace understudy::replayer {
namespace {

using et_schema::ValueRule;
using et_schema::ValueRuleKind;

/// Beyond this a one-dimensional tensor is taken for a flattened table or flattened parameters.
constexpr std::int64_t kFlattened = 65536;
constexpr std::int64_t kLargestKernelSide = 11;
constexpr double kSmallestDeviation = 1.0 / 64;

ValueRule make_rule(ValueRuleKind kind, double a = 0, double b = 0) {
  ValueRule rule;
  rule.kind = kind;
  rule.a = a;
  rule.b = b;
  return rule;
}

std::int64_t fan_in(at::IntArrayRef sizes) {
  const auto spatial = sizes.slice(2);
  const bool kernel = !spatial.empty() && std::all_of(spatial.begin(), spatial.end(), [](auto s) {
    return s <= kLargestKernelSide;
  });
  if (!kernel) {
    return sizes.back();
  }
  std::int64_t product = 1;
  for (const std::int64_t size : sizes.slice(1)) {
    product *= std::max<std::int64_t>(size, 1);
  }
  return product;
}

/// The tensor without the dimensions that repeat elements, so that each is written once.
at::Tensor without_repeats(at::Tensor tensor) {
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim) {
    if (tensor.stride(dim) == 0 && tensor.size(dim) > 1) {
      tensor = tensor.narrow(dim, 0, 1);
    }
  }
  return tensor;
}

/// Random numbers of a device that depend on the key alone.
at::Generator generator_of(c10::Device device, ValueKey key) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;  // the golden ratio's bits spread the streams
  at::Generator generator = at::globalContext().defaultGenerator(device).clone();
  generator.set_current_seed(key.seed * kOdd + key.stream);
  return generator;
}

}  // namespace

ValueRule default_rule(at::ScalarType dtype, at::IntArrayRef sizes) {
  const bool floating = at::isFloatingType(dtype) || at::isComplexType(dtype);
  if (dtype == at::kBool || sizes.empty()) {
    return make_rule(ValueRuleKind::kConstant, 1);
  }
  if (!floating) {
    return make_rule(ValueRuleKind::kZeros);
  }
  if (sizes.size() == 1) {
    return sizes[0] > kFlattened ? make_rule(ValueRuleKind::kNormal, 0, kSmallestDeviation)
                                 : make_rule(ValueRuleKind::kUniform, 0.5, 1);
  }
  const auto inputs = static_cast<double>(std::max<std::int64_t>(fan_in(sizes), 1));
  return make_rule(ValueRuleKind::kNormal, 0,
                   std::clamp(1 / std::sqrt(inputs), kSmallestDeviation, 1.0));
}

void fill_tensor(const at::Tensor& tensor, const ValueRule& rule, ValueKey key) {
  if (!tensor.defined() || tensor.numel() == 0 || tensor.layout() != at::kStrided) {
    return;
  }
  const at::Tensor target = without_repeats(tensor);
  if (!target.is_cpu() && fill_on_device(target, rule, generator_of(target.device(), key))) {
    return;
  }
  const Draws draws(rule, key, target.numel());
  if (target.is_cpu() && target.is_contiguous()) {
    store_draws(draws, rule, 0, target.numel(), target.data_ptr(), target.scalar_type());
    return;
  }
  const at::Tensor made = at::empty(target.sizes(), target.options().device(at::kCPU));
  store_draws(draws, rule, 0, made.numel(), made.data_ptr(), made.scalar_type());
  target.copy_(made);
}

}  // namespace understudy::replayer
