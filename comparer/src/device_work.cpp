#include "comparer/device_work.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

namespace understudy::comparer {
namespace {

using DeviceKey = std::pair<std::string, std::string>;  ///< DeviceRow's name and call
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
  std::vector<DeviceRow> list;
  for (auto& [name, row] : rows) {
    list.push_back(std::move(row));
  }
  std::ranges::stable_sort(list, std::ranges::greater{},
                           [](const DeviceRow& row) { return std::abs(row.change_ms()); });
  return list;
}

void add(const DeviceRow& row, DeviceRow& sum) {
  sum.a_ms = sum.a_ms.value_or(0) + row.a_ms.value_or(0);
  sum.b_ms = sum.b_ms.value_or(0) + row.b_ms.value_or(0);
  sum.a_launches += row.a_launches;
  sum.b_launches += row.b_launches;
}

}  // namespace

DeviceComparison compare_devices(const DeviceStep& a, const DeviceStep& b) {
  DeviceComparison comparison;
  comparison.calls = joined(a, b, [](const DeviceWork& work) { return DeviceKey(work.call, ""); });
  comparison.classes =
      joined(a, b, [](const DeviceWork& work) { return DeviceKey(work.kernel_class, ""); });
  comparison.kernels =
      joined(a, b, [](const DeviceWork& work) { return DeviceKey(work.kernel, work.call); });
  comparison.all.name = "all";
  comparison.shared.name = "operators on both sides";
  for (const DeviceRow& row : comparison.calls) {
    add(row, comparison.all);
    if (row.a_ms && row.b_ms) {
      add(row, comparison.shared);
    }
  }
  return comparison;
}

}  // namespace understudy::comparer
