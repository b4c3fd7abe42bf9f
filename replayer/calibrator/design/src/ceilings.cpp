#include "replayer/calibrator/design/ceilings.h"

#include <algorithm>
#include <utility>

#include "et_schema/base/processor.h"
#include "replayer/calibrator/design/recipe.h"

namespace understudy::calibrator {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

/// Sums a row of so many bytes again and again. Its overhead is nothing beside 64 MiB.
CeilingCall repeated_read(const char* level, std::int64_t bytes) {
  constexpr std::int64_t kItem = sizeof(float);
  const std::int64_t times = std::max<std::int64_t>(1, 64 * kMebibyte / bytes);
  Call sum = *make_call({"aten::sum", "", "{r,n}"}, {{"r", times}, {"n", bytes / kItem}}, {});
  sum.tensors.front().layout.strides = {0, 1};
  return {std::move(sum), true, level, static_cast<double>(times * bytes)};
}

CeilingCall product(et_schema::DType dtype, std::int64_t size) {
  const bool is_integer = dtype == et_schema::DType::kInt8;
  const Recipe recipe{is_integer ? "aten::_int_mm" : "aten::mm", "", "{n,n} {n,n}"};
  const auto edge = static_cast<double>(size);
  return {*make_call(recipe, {{"n", size}}, {.dtype = dtype}), false, std::string(to_string(dtype)),
          2 * edge * edge * edge};
}

}  // namespace

std::vector<CeilingCall> ceiling_calls(bool on_device) {
  using et_schema::cache_bytes, et_schema::DType;
  std::vector<CeilingCall> calls;
  if (on_device) {
    // Cards since 2017 have a second-level cache of 4 MiB or more.
    calls = {repeated_read("L2", 4 * kMebibyte), repeated_read("DRAM", 1024 * kMebibyte)};
  } else {
    // Half of a cache that a core has for itself, a quarter of the last one, which others use, too.
    for (const auto& [level, bytes] : {std::pair("L1", cache_bytes(1) / 2),
                                       {"L2", cache_bytes(2) / 2},
                                       {"L3", cache_bytes(3) / 4},
                                       {"DRAM", 128 * kMebibyte}}) {
      if (bytes > 0) {
        calls.push_back(repeated_read(level, bytes));
      }
    }
  }
  for (const DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kFloat16, DType::kInt8}) {
    // Without instructions for it, a CPU's product of float16 is a hundred times slower.
    const std::int64_t on_host = dtype == DType::kFloat16 ? 256 : 1024;
    calls.push_back(product(dtype, on_device ? 8192 : on_host));
  }
  return calls;
}

}  // namespace understudy::calibrator
