#include "communication.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/common/output.h"
#include "cli/common/output_path.h"
#include "cli/common/run_main.h"
#include "cli/common/stop_signals.h"
#include "cli/pages/document/from_json.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/output_file.h"
#include "et_schema/formats/collective_rows/collective_rows.h"
#include "et_schema/model/comm_traits.h"
#include "fit_files.h"
#include "measure.h"
#include "replayer/backends/interface/launcher.h"
#include "replayer/calibrator/measure/collectives.h"
#include "replayer/device/device.h"
#include "replayer/job/rank_gpus.h"

namespace understudy::cli {
namespace {

using et_schema::CollectiveRow;

calibrator::CollectiveLimits limits_of(const CalibrateArguments& arguments,
                                       backends::Backend& backend, c10::Device device) {
  calibrator::CollectiveLimits limits;
  limits.budget_s = arguments.budget_s;
  limits.most_bytes = std::min(limits.most_bytes, calibrator::fitting_bytes(backend, device));
  return limits;
}

/// Returns an element for each kind, group size and element type.
nlohmann::ordered_json document_of(const std::vector<CollectiveRow>& rows) {
  using Key = std::tuple<std::string, int, std::string>;
  std::map<Key, std::vector<const CollectiveRow*>> areas;
  for (const CollectiveRow& row : rows) {
    areas[{std::string(to_string(row.kind)), row.ranks, std::string(to_string(row.dtype))}]
        .push_back(&row);
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& [key, of_area] : areas) {
    const auto [least, most] =
        std::ranges::minmax(of_area, {}, [](const CollectiveRow* row) { return row->bytes; });
    const double factor = et_schema::bus_factor(most->kind, most->ranks);
    list.push_back({{"name", std::get<0>(key)},
                    {"ranks", most->ranks},
                    {"dtype", std::get<2>(key)},
                    {"sizes", of_area.size()},
                    {"smallest_ns", least->median_ns},
                    {"largest_bytes", most->bytes},
                    {"largest_ns", most->median_ns},
                    {"bus_gb_per_s", factor * static_cast<double>(most->bytes) / most->median_ns}});
  }
  return {{"communication", std::move(list)}};
}

pages::Page communication_page(const std::string& path, const std::vector<CollectiveRow>& rows) {
  using pages::counts, pages::figures, pages::texts;
  constexpr double kUsPerNs = 1e-3;
  const nlohmann::ordered_json document = document_of(rows);
  pages::Page page;
  page.title =
      fmt::format("{}: {} rows of communication", path, et_schema::with_commas(rows.size()));
  page.sections = {
      {"communication",
       "Communication",
       {pages::table_at(
           document, "/communication", "Communication",
           {texts("kind", "name"), counts("ranks"), counts("sizes"),
            figures("smallest, µs", "smallest_ns", kUsPerNs),
            pages::byte_counts("largest", "largest_bytes"), figures("µs", "largest_ns", kUsPerNs),
            figures("bus GB/s", "bus_gb_per_s"), texts("type", "dtype")})}}};
  return made_by("calibrate", std::move(page), document, "communication.json");
}

void write_platform(const CalibrateArguments& arguments) {
  FitArguments fit = arguments.fit;
  fit.inputs = {arguments.rows};
  fit.quiet = fit.quiet || fit.format != Format::kText;
  fit.format = Format::kText;
  static_cast<void>(fit_files(fit));
  if (!arguments.keeps_rows) {
    std::error_code ignored;
    std::filesystem::remove(arguments.rows, ignored);
  }
}

}  // namespace

bool CommunicationJob::is_wanted() {
  const std::optional<backends::Launch> launch = backends::launched();
  return launch && launch->world_size > 1;
}

int CommunicationJob::run(const CalibrateArguments& arguments) {
  backend_ = backends::join_job();
  const bool is_first = backend_->rank() == 0;
  if (is_first) {
    refuse_output(arguments.rows, {}, "--output");
  }
  Progress progress(!is_first || arguments.fit.quiet);
  StopSignals signals;
  signals.listen(is_first ? kEndingWords : nullptr);
  const c10::Device device =
      replayer::open_device(arguments.device, backends::launched_local_rank());
  devices_ = replayer::connect_gpus(*backend_, device);
  std::vector<CollectiveRow> rows = calibrator::measure_collectives(
      *backend_, {communicator(), device}, limits_of(arguments, *backend_, device),
      [] { return StopSignals::signal() != 0; },
      [&](std::size_t done, const std::string&, double left_s) {
        progress.show({"communication", done, std::nullopt, left_s});
      });
  progress.clear();
  has_ended_ = true;
  const int status =
      StopSignals::signal() == 0 ? kStatusOk : status_of_signal(StopSignals::signal());
  if (!is_first) {
    return status;
  }
  for (CollectiveRow& row : rows) {
    row.device = gpu_name(device);
  }
  add_receives(rows);
  et_schema::write_file_atomically(arguments.rows, to_json_lines(rows));
  pages::show(communication_page(arguments.rows, rows), arguments.fit.format, arguments.fit.quiet);
  if (status == kStatusOk && !arguments.fit.output.empty()) {
    write_platform(arguments);
  }
  return status;
}

backends::Communicator& CommunicationJob::communicator() {
  return devices_ == nullptr ? static_cast<backends::Communicator&>(*backend_) : *devices_;
}

void CommunicationJob::end_others(int status) {
  if (backend_ != nullptr && !has_ended_) {
    backend_->abort(status);
  }
}

}  // namespace understudy::cli
