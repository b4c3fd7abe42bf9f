#include "report_text/report_text.h"

#include <fmt/format.h>

#include "measurement_section.h"
#include "report_sections.h"

namespace understudy::cli {
namespace {

std::string title(const et_schema::Report& report) {
  const et_schema::Environment& environment = report.environment;
  const std::string what = environment.benchmark.empty() ? "Replay" : environment.benchmark;
  const std::string where = environment.device.empty() ? "" : ", " + environment.device;
  const std::string by =
      environment.tool_version.empty() ? "" : ", Understudy " + environment.tool_version;
  return fmt::format("{}: {} {}{}{}", what, report.world_size,
                     report.world_size == 1 ? "rank" : "ranks", where, by);
}

}  // namespace

std::string report_to_text(const et_schema::Report& report, const ReportTextOptions& options) {
  std::string out = title(report) + "\n" + incomplete_text(report) + nan_text(report);
  for (const Section& section : report_sections(report, options)) {
    if (!section.body.empty()) {
      out += "\n" + section.title + "\n" + section.body;
    }
  }
  return out;
}

}  // namespace understudy::cli
