#include <fmt/format.h>

#include <tuple>

#include "cli/pages/document/walked.h"
#include "comparison_figures.h"
#include "comparison_parts.h"

namespace understudy::pages {
namespace {

using Json = nlohmann::ordered_json;

/// Kernel names are long: the page cuts them, the data has them in full.
constexpr std::size_t kMostOfName = 70;

std::vector<Column> columns_named(const char* title) {
  std::vector<Column> columns = columns_of<comparer::DeviceRow>();
  columns[0] = shortened(texts(title, "name"), kMostOfName);
  columns[1] = shortened(columns[1], kMostOfName);
  return columns;
}

}  // namespace

void add_device_sections(const Json& json, std::size_t top, Page& page) {
  Table sides{.id = "device-table",
              .caption = "Steps and devices",
              .columns = {texts("what"), counts("A"), counts("B")}};
  for (const auto& [title, key, kind] :
       {std::tuple("device time, ms", "/all", "_ms"), std::tuple("launches", "/all", "_launches"),
        std::tuple("device busy, ms", "", "/busy_ms"),
        std::tuple("step, to the end of its device's work, ms", "", "/step_ms"),
        std::tuple("device idle, of 1", "", "/idle")}) {
    std::vector<Cell>& row = sides.rows.emplace_back();
    row.emplace_back(std::string(title));
    for (const char* const side : {"a", "b"}) {
      const std::string at = fmt::format("/device{}/{}{}", key, side, kind);
      row.push_back(cell_of(json.at(Json::json_pointer(at))));
    }
  }
  Section section{"device", "On the device", {sides}};
  Section parts{"device-operators", "Operators on the device", {}};
  const auto add = [&](Section& to, const char* at, const char* caption, const char* title,
                       std::size_t most) {
    to.blocks.emplace_back(
        without_unknown(table_at(json, at, caption, columns_named(title), most)));
  };
  add(section, "/device/classes", "Device time by class of kernel, by change", "class", kAll);
  add(parts, "/device/operators", "Device time by operator, by change", "operator", top);
  add(parts, "/device/kernels",
      "Kernels below their operators, by change: makers name them differently", "kernel", top);
  page.sections.insert(page.sections.begin() + 2, parts);
  page.sections.insert(page.sections.begin(), section);
}

}  // namespace understudy::pages
