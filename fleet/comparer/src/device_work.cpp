#include "fleet/comparer/device_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/map_values.h"

namespace understudy::comparer {
namespace {

using DeviceKey = std::pair<std::string, std::string>;  ///< name and call of a DeviceRow
using Rows = std::map<DeviceKey, DeviceRow>;

void add(const DeviceStep& step, bool is_a, const std::function<DeviceKey(const DeviceWork&)>& key,
         Rows& rows) {
  for (const DeviceWork& work : step.work) {
    const DeviceKey name = key(work);
    DeviceRow& row = rows[name];
    row.name = name.first;
    row.call = name.second;
    std::optional<double>& ms = is_a ? row.a_ms : row.b_ms;
    ms = ms.value_or(0) + work.ms;
    (is_a ? row.a_launches : row.b_launches) += work.launches;
  }
}

std::vector<DeviceRow> joined(const DeviceStep& a, const DeviceStep& b,
                              const std::function<DeviceKey(const DeviceWork&)>& key) {
  Rows rows;
  add(a, true, key, rows);
  add(b, false, key, rows);
  return et_schema::largest_first(std::move(rows),
                                  [](const DeviceRow& row) { return std::abs(row.change_ms()); });
}

void add(const DeviceRow& row, DeviceRow& sum) {
  sum.a_ms = sum.a_ms.value_or(0) + row.a_ms.value_or(0);
  sum.b_ms = sum.b_ms.value_or(0) + row.b_ms.value_or(0);
  sum.a_launches += row.a_launches;
  sum.b_launches += row.b_launches;
}

/// Adds to `shared` only if both sides have the row.
void add(const DeviceRow& row, DeviceRow& all, DeviceRow& shared) {
  add(row, all);
  if (row.a_ms && row.b_ms) {
    add(row, shared);
  }
}

}  // namespace

DeviceComparison compare_devices(DeviceStep a, DeviceStep b) {
  DeviceComparison comparison;
  comparison.calls = joined(a, b, [](const DeviceWork& work) { return DeviceKey(work.call, ""); });
  comparison.classes =
      joined(a, b, [](const DeviceWork& work) { return DeviceKey(work.kernel_class, ""); });
  comparison.kernels =
      joined(a, b, [](const DeviceWork& work) { return DeviceKey(work.kernel, work.call); });
  comparison.all = {.name = "all", .a_ms = 0, .b_ms = 0};
  comparison.shared = {.name = "operators on both sides", .a_ms = 0, .b_ms = 0};
  for (const DeviceRow& row : comparison.calls) {
    add(row, comparison.all, comparison.shared);
  }
  comparison.a = std::move(a);
  comparison.b = std::move(b);
  return comparison;
}

void refuse_different_work(const DeviceComparison& comparison) {
  constexpr double kLeastShare = 0.1;
  // Kernels without a known operator are ignored.
  DeviceRow all;
  DeviceRow shared;
  for (const DeviceRow& row : comparison.calls) {
    if (!row.name.starts_with('(')) {
      add(row, all, shared);
    }
  }
  if (all.a_ms.value_or(0) <= 0 || all.b_ms.value_or(0) <= 0) {
    return;
  }
  const double most =
      std::max(shared.a_ms.value_or(0) / *all.a_ms, shared.b_ms.value_or(0) / *all.b_ms);
  if (most < kLeastShare) {
    throw et_schema::usage_error(
        "the profiles are of different work",
        {.file = comparison.b.file,
         .field = "operators and their sizes",
         .expected = fmt::format("those of {}, for {:.0f} % of the device's time at least",
                                 comparison.a.file, 100 * kLeastShare),
         .got = fmt::format("the same for {:.1f} % of it", 100 * most),
         .hint = "--different-benchmarks compares them all the same"});
  }
}

void refuse_different_operators(const Run& a, const Run& b) {
  constexpr double kLeastShare = 0.75;
  if (!a.is_profile || !b.is_profile || (a.has_sizes && b.has_sizes)) {
    return;
  }
  std::map<std::string, std::array<std::uint64_t, 2>> calls;
  std::array<std::uint64_t, 2> all = {};
  for (std::size_t side = 0; side < 2; ++side) {
    for (const Series& row : (side == 0 ? a : b).rows) {
      const std::uint64_t count = row.kind == RowKind::kOperator ? row.count : 0;
      calls[row.name][side] += count;
      all[side] += count;
    }
  }
  std::uint64_t same = 0;
  for (const auto& [name, counts] : calls) {
    same += std::min(counts[0], counts[1]);
  }
  const double share = 2 * static_cast<double>(same) / static_cast<double>(all[0] + all[1]);
  if (all[0] > 0 && all[1] > 0 && share < kLeastShare) {
    throw et_schema::usage_error(
        "the profiles are of different work",
        {.file = b.file,
         .field = "operators, which tell no sizes",
         .expected = fmt::format("those of {}: {} in a step, {:.0f} % the same at least", a.file,
                                 all[0], 100 * kLeastShare),
         .got = fmt::format("{} operators, other counts: {:.0f} % the same", all[1], 100 * share),
         .hint = "--different-benchmarks compares them all the same; record_shapes=True tells "
                 "programs apart by their sizes"});
  }
}

}  // namespace understudy::comparer
