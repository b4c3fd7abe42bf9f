#pragma once

#include "cli/pages/document/page.h"
#include "et_schema/model/report.h"

namespace understudy::pages {

/// Shows a replay's report: verdict, distribution of iteration times, time by class compared with
/// the recorded, operators, collectives, memory, coverage and losses, pace, values, environment.
/// docs/metrics.md has the formula of every figure. All figures come from the report's JSON, which
/// is the page's data: parse_report() reads it. Its csv is one long table,
/// `rank,section,name,detail,metric,value`: each figure is a line, with rank "all" for the whole
/// job, the unit in the metric's name, and nothing for unknown values.
[[nodiscard]] Page report_page(const et_schema::Report& report);

}  // namespace understudy::pages
