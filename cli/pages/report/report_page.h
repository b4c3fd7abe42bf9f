#pragma once

#include <string>

#include "cli/pages/document/page.h"
#include "et_schema/model/report.h"

namespace understudy::pages {

/// Shows a replay's report: verdict, distribution of iteration times, time by class compared with
/// the recorded, operators, collectives, memory, coverage and losses, pace, values, environment.
/// docs/metrics.md has the formula of every figure. All figures come from the report's JSON. The
/// page's data is that JSON without the samples of single operators, collectives and ranks
/// (docs/formats.md).
[[nodiscard]] Page report_page(const et_schema::Report& report);

/// Returns the report as text, with the fifteen operators that take longest.
[[nodiscard]] std::string report_to_text(const et_schema::Report& report);

/// Returns the report in this format; parse_report() reads the JSON.
[[nodiscard]] std::string written(const et_schema::Report& report, cli::Format format);

/// Returns the report as one long table, `rank,section,name,detail,metric,value`, for spreadsheets
/// and data frames. Each figure of its JSON is a line. The rank is "all" for the whole job, the
/// metric's name holds the unit, unknown values are empty. Quoted as in RFC 4180; lines end in
/// "\n".
[[nodiscard]] std::string report_to_csv(const et_schema::Report& report);

}  // namespace understudy::pages
