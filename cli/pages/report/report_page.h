#pragma once

#include <string>

#include "cli/pages/document/page.h"
#include "et_schema/model/report.h"

namespace understudy::pages {

/// A replay's report as a document: verdict, distribution of iteration times, time by class beside
/// the recorded, operators, collectives, memory, coverage and losses, pace, values, environment.
/// docs/metrics.md has the formula of every figure. Its figures are taken from the report's JSON.
/// Its data is that JSON without the samples of single operators and collectives, and without those
/// of single ranks (docs/formats.md).
[[nodiscard]] Page report_page(const et_schema::Report& report);

/// The same as text, with the fifteen operators that take longest.
[[nodiscard]] std::string report_to_text(const et_schema::Report& report);

/// The report in this format; parse_report() reads the JSON.
[[nodiscard]] std::string written(const et_schema::Report& report, cli::Format format);

/// The report as one long table, `rank,section,name,detail,metric,value`, for spreadsheets and data
/// frames: each figure of its JSON a line, rank "all" for the whole job, units in the metric's
/// name, empty values for what is not known. Quoted as RFC 4180 says, lines end in "\n".
[[nodiscard]] std::string report_to_csv(const et_schema::Report& report);

}  // namespace understudy::pages
