#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/pages/document/from_json.h"
#include "cli/pages/document/page.h"
#include "cli/pages/document/walked.h"
#include "et_schema/model/report_figures.h"
#include "et_schema/model/report_verdict.h"

namespace understudy::pages {

using Json = nlohmann::ordered_json;

/// Input of the sections. Figures are read from `json`, by their places there.
struct ReportData {
  const et_schema::Report& report;
  Json json;
};

// Sections of the report. A section without content has no blocks.

[[nodiscard]] Section iterations_section(const ReportData& data);
[[nodiscard]] Section original_section(const ReportData& data);
[[nodiscard]] Section classes_section(const ReportData& data);
[[nodiscard]] Section operators_section(const ReportData& data);
[[nodiscard]] Section collectives_section(const ReportData& data);
[[nodiscard]] Section ranks_section(const ReportData& data);
[[nodiscard]] Section memory_section(const ReportData& data);
[[nodiscard]] Section gpu_section(const ReportData& data);
[[nodiscard]] Section coverage_section(const ReportData& data);
[[nodiscard]] Section values_section(const ReportData& data);
[[nodiscard]] Section losses_section(const ReportData& data);
[[nodiscard]] Section measurement_section(const ReportData& data);
[[nodiscard]] Section pace_section(const ReportData& data);
[[nodiscard]] Section graphs_section(const ReportData& data);
[[nodiscard]] Section system_section(const ReportData& data);
[[nodiscard]] Section environment_section(const ReportData& data);

/// Returns the counters of an iteration, and the states of their sources.
[[nodiscard]] Facts iteration_counters(const ReportData& data);
/// Returns a column for each counter of operators. A text shows only the most telling ones.
[[nodiscard]] std::vector<Column> operator_counters(const ReportData& data);
/// Returns the operators' counters by class. Without counters it has no rows.
[[nodiscard]] Table class_counters(const ReportData& data);

}  // namespace understudy::pages
