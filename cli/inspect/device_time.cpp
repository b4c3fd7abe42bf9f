#include "inspect/device_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/json_csv.h"
#include "common/table.h"
#include "et_schema/json_trace/sniff.h"
#include "et_schema/kineto/kineto.h"
#include "et_schema/support/error.h"
#include "et_schema/support/input_files.h"
#include "generator/link/device_time.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using generator::KernelTime;

constexpr double kDeviceNsPerMs = 1e6;
constexpr std::size_t kLongest = 20;
constexpr std::size_t kNameColumns = 60;

/// The kernels of a profile added up by one of their texts, longest first: {KEY, count, ms, share}.
template <typename Key>
Json sums_by(const char* name, const std::vector<KernelTime>& kernels, std::int64_t all_ns,
             const Key& key) {
  std::vector<std::pair<std::string, std::pair<std::uint64_t, std::int64_t>>> sums;
  for (const KernelTime& kernel : kernels) {
    const std::string text(key(kernel));
    auto sum = std::ranges::find(sums, text, [](const auto& row) { return row.first; });
    if (sum == sums.end()) {
      sum = sums.insert(sums.end(), {text, {}});
    }
    sum->second.first += kernel.count;
    sum->second.second += kernel.device_ns;
  }
  std::ranges::stable_sort(sums, std::ranges::greater{},
                           [](const auto& row) { return row.second.second; });
  Json rows = Json::array();
  for (const auto& [text, sum] : sums) {
    const auto ns = static_cast<double>(sum.second);
    rows.push_back({{name, text},
                    {"count", sum.first},
                    {"ms", ns / kDeviceNsPerMs},
                    {"share", all_ns == 0 ? 0 : ns / static_cast<double>(all_ns)}});
  }
  return rows;
}

Json profile_document(const et_schema::Profile& profile) {
  const std::vector<KernelTime> kernels = generator::kernel_times(profile);
  std::int64_t all_ns = 0;
  std::uint64_t count = 0;
  for (const KernelTime& kernel : kernels) {
    all_ns += kernel.device_ns;
    count += kernel.count;
  }
  Json rows = Json::array();
  for (const KernelTime& kernel : kernels) {
    const auto ns = static_cast<double>(kernel.device_ns);
    rows.push_back({{"name", kernel.kernel},
                    {"class", kernel.kernel_class},
                    {"launched_by", to_string(kernel.by)},
                    {"launcher", kernel.launcher},
                    {"count", kernel.count},
                    {"ms", ns / kDeviceNsPerMs},
                    {"share", all_ns == 0 ? 0 : ns / static_cast<double>(all_ns)}});
  }
  return {{"file", profile.file},
          {"device_ms", static_cast<double>(all_ns) / kDeviceNsPerMs},
          {"count", count},
          {"classes", sums_by("name", kernels, all_ns,
                              [](const KernelTime& kernel) { return kernel.kernel_class; })},
          {"launches", sums_by("name", kernels, all_ns,
                               [](const KernelTime& kernel) { return to_string(kernel.by); })},
          {"kernels", std::move(rows)}};
}

std::string shortened(const std::string& name) {
  return name.size() <= kNameColumns ? name : name.substr(0, kNameColumns - 3) + "...";
}

void add_figures(std::vector<std::string>& cells, const Json& row) {
  cells.push_back(with_commas(row["count"].get<std::uint64_t>()));
  cells.push_back(fmt::format("{:.3f}", row["ms"].get<double>()));
  cells.push_back(fmt::format("{:.1f} %", 100 * row["share"].get<double>()));
}

TextTable sums_table(const char* title, const Json& rows) {
  TextTable table({{title},
                   {"count", Alignment::kRight},
                   {"ms", Alignment::kRight},
                   {"share", Alignment::kRight}});
  for (const Json& row : rows) {
    std::vector<std::string> cells = {row["name"].get<std::string>()};
    add_figures(cells, row);
    table.add(std::move(cells));
  }
  return table;
}

std::string profile_text(const Json& profile) {
  std::string text =
      fmt::format("{}: {:.3f} ms on the device in {} kernels, copies and fills\n",
                  profile["file"].get<std::string>(), profile["device_ms"].get<double>(),
                  with_commas(profile["count"].get<std::uint64_t>()));
  const Json& kernels = profile["kernels"];
  if (kernels.empty()) {
    return text;
  }
  text += "\n" + sums_table("class", profile["classes"]).to_text();
  text += "\n" + sums_table("launched by", profile["launches"]).to_text();
  TextTable longest({{"count", Alignment::kRight},
                     {"ms", Alignment::kRight},
                     {"share", Alignment::kRight},
                     {"class"},
                     {"launcher"},
                     {"kernel"}});
  for (std::size_t i = 0; i < std::min(kLongest, kernels.size()); ++i) {
    std::vector<std::string> cells;
    add_figures(cells, kernels[i]);
    const auto launcher = kernels[i]["launcher"].get<std::string>();
    cells.push_back(kernels[i]["class"].get<std::string>());
    cells.push_back(launcher.empty() ? kernels[i]["launched_by"].get<std::string>() : launcher);
    cells.push_back(shortened(kernels[i]["name"].get<std::string>()));
    longest.add(std::move(cells));
  }
  text += "\n" + longest.to_text();
  if (kernels.size() > kLongest) {
    text += fmt::format("  and {} more: --format csv or json has all, with whole names\n",
                        kernels.size() - kLongest);
  }
  return text;
}

}  // namespace

std::string render_device_time(const std::vector<std::string>& paths, Format format) {
  Json profiles = Json::array();
  for (const std::string& path : paths) {
    et_schema::read_input_files(
        path, et_schema::process_limits(), [&profiles](et_schema::InputFile&& file) {
          if (et_schema::classify_json(file.data) == et_schema::JsonKind::kKineto) {
            profiles.push_back(profile_document(et_schema::parse_kineto(file.data, file.name)));
          }
        });
  }
  if (profiles.empty()) {
    throw et_schema::usage_error(
        "no profile among the inputs",
        {.file = paths.front(),
         .field = "--device-time",
         .expected = "Kineto (chrome) traces",
         .got = "none",
         .hint = "give what torch.profiler's export_chrome_trace() wrote, or a folder of them"});
  }
  const Json document = {{"device_time", std::move(profiles)}};
  return as_asked(format, document, [&document] {
    std::string text;
    for (const Json& profile : document["device_time"]) {
      text += (text.empty() ? "" : "\n") + profile_text(profile);
    }
    return text;
  });
}

}  // namespace understudy::cli
