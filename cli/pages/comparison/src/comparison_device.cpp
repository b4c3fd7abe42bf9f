#include <fmt/format.h>

#include <tuple>

#include "cli/pages/document/from_json.h"
#include "comparison_parts.h"

namespace understudy::pages {
namespace {

using comparer::DeviceRow;
using comparer::DeviceStep;
using Json = nlohmann::ordered_json;

/// Kernel names are long: the page cuts them, the data has them in full.
constexpr std::size_t kMostOfName = 70;

Json row_json(const DeviceRow& row) {
  const bool is_shared = row.a_ms && row.b_ms;
  Json json = {{"name", row.name}};
  if (!row.call.empty()) {
    json["operator"] = row.call;
  }
  json["a_ms"] = row.a_ms ? Json(*row.a_ms) : Json();
  json["b_ms"] = row.b_ms ? Json(*row.b_ms) : Json();
  json["change_ms"] = row.change_ms();
  json["ratio"] = is_shared && *row.a_ms > 0 ? Json(*row.b_ms / *row.a_ms) : Json();
  json["a_launches"] = row.a_launches;
  json["b_launches"] = row.b_launches;
  json["on"] = is_shared ? "both" : row.a_ms ? "A only" : "B only";
  return json;
}

Json rows_json(const std::vector<DeviceRow>& rows) {
  Json list = Json::array();
  for (const DeviceRow& row : rows) {
    list.push_back(row_json(row));
  }
  return list;
}

Json side_json(const DeviceStep& step) {
  return {{"file", step.file},
          {"device", step.device},
          {"step_ms", step.step_ms},
          {"busy_ms", step.busy_ms},
          {"idle", step.idle ? Json(*step.idle) : Json()}};
}

std::vector<Column> columns_of(const char* title) {
  return {figures("A ms", "a_ms"),
          figures("B ms", "b_ms"),
          changes("change ms", "change_ms"),
          ratios("B ÷ A", "ratio"),
          figures("launches A", "a_launches"),
          figures("B", "b_launches"),
          shortened(texts(title, "name"), kMostOfName),
          texts("on")};
}

}  // namespace

Json device_json(const comparer::DeviceComparison& comparison) {
  return {{"a", side_json(comparison.a)},
          {"b", side_json(comparison.b)},
          {"all", row_json(comparison.all)},
          {"shared", row_json(comparison.shared)},
          {"classes", rows_json(comparison.classes)},
          {"operators", rows_json(comparison.calls)},
          {"kernels", rows_json(comparison.kernels)}};
}

void add_device_sections(const Json& json, std::size_t top, Page& page) {
  Table sides{.id = "device-table",
              .caption = "Steps and devices",
              .columns = {texts(""), figures("A"), figures("B")}};
  const Json& device = json.at("device");
  for (const auto& [title, key, kind] :
       {std::tuple("device time, ms", "/all", "_ms"), std::tuple("launches", "/all", "_launches"),
        std::tuple("device busy, ms", "", "/busy_ms"),
        std::tuple("step, to the end of its device's work, ms", "", "/step_ms"),
        std::tuple("device idle, of 1", "", "/idle")}) {
    std::vector<Cell>& row = sides.rows.emplace_back();
    row.emplace_back(std::string(title));
    for (const char* const side : {"a", "b"}) {
      const std::string at = fmt::format("{}/{}{}", key, side, kind);
      row.push_back(cell_of(device.at(Json::json_pointer(at))));
    }
  }
  const Table classes = table_at(json, "/device/classes",
                                 "Device time by class of kernel, by change", columns_of("class"));
  const Table calls = table_at(json, "/device/operators", "Device time by operator, by change",
                               columns_of("operator"), top);
  std::vector<Column> columns = columns_of("kernel");
  columns.insert(columns.begin() + 6, shortened(texts("operator"), kMostOfName));
  const Table kernels =
      table_at(json, "/device/kernels",
               "Kernels below their operators, by change: makers name them differently",
               std::move(columns), top);
  const Section section{"device", "On the device", {sides, classes, calls, kernels}};
  page.sections.insert(page.sections.begin(), section);
}

}  // namespace understudy::pages
