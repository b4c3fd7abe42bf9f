#pragma once

#include <cstddef>
#include <string>

#include "et_schema/model/report.h"

namespace understudy::cli {

struct ReportTextOptions {
  std::size_t top_operators = 15;  ///< rows of the table of operators
};

/// The report as a person reads it: aligned tables, one section a topic, sections without content
/// left out. docs/metrics.md has the formula of every figure.
[[nodiscard]] std::string report_to_text(const et_schema::Report& report,
                                         const ReportTextOptions& options = {});

/// The report as one long table, `rank,section,name,detail,metric,value`, for spreadsheets and data
/// frames: one figure a line, rank "all" for the whole job, units in the metric's name, empty
/// values for what is not known. Quoted as RFC 4180 says, lines end in "\n".
[[nodiscard]] std::string report_to_csv(const et_schema::Report& report);

}  // namespace understudy::cli
