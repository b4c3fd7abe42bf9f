#pragma once

#include <string>

#include "et_schema/model/report.h"
#include "pages/html/page.h"

namespace understudy::pages {

/// A replay's report as a page: verdict, distribution of iteration times, time by class beside the
/// recorded, operators, collectives, memory, coverage and losses, pace, values, environment. Its
/// data is the report's JSON without the samples of single operators and collectives,
/// and without these of single ranks (docs/formats.md).
[[nodiscard]] Page report_page(const et_schema::Report& report);

}  // namespace understudy::pages
