#include "et_schema/formats/counted_kernels/counted_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "et_schema/base/control_characters.h"
#include "et_schema/base/csv.h"
#include "et_schema/base/error.h"
#include "et_schema/base/map_values.h"
#include "et_schema/base/quote.h"

namespace understudy::et_schema {
namespace {

constexpr const char* kSummary = "no counters of kernels";
constexpr const char* kHint = "docs/profiles.md, \"Counters\", has the commands that write them";
constexpr const char* kNsightTitle = "\"Kernel Name\"";
constexpr const char* kRocprofilerTitle = "\"Kernel_Name\"";
constexpr const char* kDeviceNs = "device_ns";

const std::string& cell(const CsvTable& table, const CsvRecord& record, const char* title) {
  if (!table.has(title)) {
    throw bad_input(kSummary, {.file = table.file,
                               .expected = fmt::format("a column {}", title),
                               .got = "none",
                               .hint = kHint});
  }
  return record.cells[table.find(title)];
}

/// Returns the number in a cell, as 1,234.5; nothing if it is a text, or has a decimal comma.
std::optional<double> number_in(std::string text) {
  constexpr std::size_t kOfThousand = 4;  // ",234"
  const std::size_t comma = text.rfind(',');
  const bool is_decimal = (comma != std::string::npos && text.size() - comma < kOfThousand) ||
                          text.starts_with("0,") || text.starts_with("-0,");
  std::erase(text, ',');
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && std::isfinite(number) && !is_decimal ? std::optional(number) : std::nullopt;
}

/// Returns the whole number in a cell, which may have more digits than a double has; else 0.
std::uint64_t whole(const CsvTable& table, const CsvRecord& record, const char* title) {
  const std::string& text = cell(table, record, title);
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::uint64_t difference(std::uint64_t begin, std::uint64_t end) {
  return end > begin ? end - begin : 0;
}

/// Returns the bytes or nanoseconds in a unit of Nsight Compute; 1 for others.
double factor_of(std::string_view unit) {
  using Unit = std::pair<std::string_view, double>;
  constexpr std::array<Unit, 10> kUnits = {{{"Kbyte", 1e3},
                                            {"Mbyte", 1e6},
                                            {"Gbyte", 1e9},
                                            {"Tbyte", 1e12},
                                            {"us", 1e3},
                                            {"usecond", 1e3},
                                            {"ms", 1e6},
                                            {"msecond", 1e6},
                                            {"s", 1e9},
                                            {"second", 1e9}}};
  const auto* const found = std::ranges::find(kUnits, unit, &Unit::first);
  return found == kUnits.end() ? 1 : found->second;
}

/// Returns true for metrics that add up or are shares: not for properties of the launch or the
/// device, nor for rates.
bool is_counted(std::string_view metric, std::string_view unit) {
  return metric.find("__") != std::string_view::npos && !metric.starts_with("launch__") &&
         !metric.starts_with("device__") && unit.find('/') == std::string_view::npos &&
         !unit.ends_with("hz");
}

/// A record for each launch, a column for each metric; the first record has the units.
std::vector<CountedKernel> of_nsight(const CsvTable& table) {
  std::vector<CountedKernel> kernels;
  for (std::size_t at = 1; at < table.records.size(); ++at) {
    CountedKernel& kernel = kernels.emplace_back();
    kernel.kernel = cell(table, table.records[at], "Kernel Name");
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const std::string& unit = table.records.front().cells[i];
      const auto number = number_in(table.records[at].cells[i]);
      if (number && is_counted(table.columns[i], unit)) {
        kernel.metrics[table.columns[i]] = *number * factor_of(unit);
      }
    }
  }
  return kernels;
}

/// A record for each counter of each dispatch, in any order.
std::vector<CountedKernel> of_rocprofiler(const CsvTable& table) {
  std::map<std::uint64_t, CountedKernel> dispatches;
  for (const CsvRecord& record : table.records) {
    CountedKernel& dispatch = dispatches[whole(table, record, "Dispatch_Id")];
    dispatch.kernel = cell(table, record, "Kernel_Name");
    if (const auto value = number_in(cell(table, record, "Counter_Value"))) {
      dispatch.metrics[cell(table, record, "Counter_Name")] = *value;
    }
    dispatch.metrics[kDeviceNs] = static_cast<double>(
        difference(whole(table, record, "Start_Timestamp"), whole(table, record, "End_Timestamp")));
  }
  return values_of(std::move(dispatches));
}

std::vector<CountedKernel> parse_any(std::string_view text, const std::string& file) {
  const bool is_nsight = text.find(kNsightTitle) != std::string_view::npos;
  const std::size_t title = text.find(is_nsight ? kNsightTitle : kRocprofilerTitle);
  if (title == std::string_view::npos) {
    return {};
  }
  // The profiled program's output can precede the line of titles.
  const CsvTable table = parse_csv(text.substr(text.rfind('\n', title) + 1), file);
  return is_nsight ? of_nsight(table) : of_rocprofiler(table);
}

}  // namespace

bool has_counted_kernels(std::string_view text) {
  return text.find(kNsightTitle) != std::string_view::npos ||
         text.find(kRocprofilerTitle) != std::string_view::npos;
}

std::vector<CountedKernel> parse_counted_kernels(std::string_view text, const std::string& file) {
  std::vector<CountedKernel> kernels = parse_any(text, file);
  if (std::ranges::all_of(kernels, [](const auto& kernel) { return kernel.metrics.empty(); })) {
    throw bad_input(kSummary,
                    {.file = file,
                     .expected = "metrics of launched kernels, by ncu --csv --page raw or "
                                 "rocprofv3 --pmc",
                     .got = quote(text),
                     .hint = kHint});
  }
  for (CountedKernel& kernel : kernels) {
    kernel.kernel = escape_control_characters(kernel.kernel);
    std::erase_if(kernel.metrics, [](const auto& row) { return !std::isfinite(row.second); });
  }
  return kernels;
}

}  // namespace understudy::et_schema
