#include "et_schema/facts/public_operators.h"

#include <algorithm>
#include <array>

#include "et_schema/facts/schema_text.h"

namespace understudy::et_schema {
namespace {

/// Sorted by name.
constexpr auto kOperators = std::to_array<std::string_view>({
#include "public_operators.inc"
});

/// Namespaces of LibTorch's own C++ libraries. Other operators are registered from Python, or in
/// libraries that users load.
constexpr auto kSpaces = std::to_array<std::string_view>(
    {"_c10d_functional", "_quantized", "aten", "c10d", "mkl", "mkldnn", "mkldnn_prepacked",
     "onednn", "prepacked", "profiler", "quantized", "sparse"});

constexpr std::string_view name_in(std::string_view line) {
  return line.substr(0, line.find('('));
}

bool is_schema(std::string_view line) {
  return line.find('(') != std::string_view::npos;
}

}  // namespace

std::span<const std::string_view> public_operators(std::string_view op) {
  const auto* const first = std::ranges::lower_bound(kOperators, op, {}, name_in);
  const auto* const last = std::find_if(first, kOperators.end(), [&](std::string_view line) {
    return without_overload(name_in(line)) != op;
  });
  return {first, last};
}

bool is_public_operator(std::string_view name) {
  const std::span<const std::string_view> lines = public_operators(without_overload(name));
  return without_overload(name) == name ? !lines.empty()
                                        : std::ranges::find(lines, name, name_in) != lines.end();
}

bool is_in_libtorch(std::string_view op) {
  const std::string_view space = op.substr(0, op.find("::"));
  return std::ranges::find(kSpaces, space) != kSpaces.end() &&
         std::ranges::any_of(public_operators(op), is_schema);
}

bool lays_out_in_place(std::string_view op) {
  if (op.starts_with("aten::resize_") || op == "aten::set_") {
    return true;
  }
  return op.ends_with('_') &&
         std::ranges::any_of(
             public_operators(op.substr(0, op.size() - 1)),
             [](std::string_view schema) { return returns_of(schema).starts_with("Tensor(a)"); });
}

}  // namespace understudy::et_schema
