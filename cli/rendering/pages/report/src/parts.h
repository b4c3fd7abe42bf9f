#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/model/report.h"
#include "pages/html/page.h"

namespace understudy::pages {

// Sections of the report's page; one without content has an empty body.

[[nodiscard]] Section iterations_section(const et_schema::Report& report);
[[nodiscard]] Section original_section(const et_schema::Report& report);
[[nodiscard]] Section classes_section(const et_schema::Report& report);
[[nodiscard]] Section operators_section(const et_schema::Report& report);
[[nodiscard]] Section collectives_section(const et_schema::Report& report);
[[nodiscard]] Section ranks_section(const et_schema::Report& report);
[[nodiscard]] Section memory_section(const et_schema::Report& report);
[[nodiscard]] Section gpu_section(const et_schema::Report& report);
[[nodiscard]] Section coverage_section(const et_schema::Report& report);
[[nodiscard]] Section values_section(const et_schema::Report& report);
[[nodiscard]] Section losses_section(const et_schema::Report& report);
[[nodiscard]] Section pace_section(const et_schema::Report& report);
[[nodiscard]] Section system_section(const et_schema::Report& report);
[[nodiscard]] Section environment_section(const et_schema::Report& report);

/// What the page says first.
struct ReportVerdict {
  Tone tone = Tone::kNeutral;
  std::string sentence;
  std::vector<std::string> findings;
};
[[nodiscard]] ReportVerdict verdict_of(const et_schema::Report& report);

/// The recorded step that a replay's iteration is held against: of the steps that nothing observed,
/// else the profiled one. Absent where none is recorded, or the replay is a part of the step.
[[nodiscard]] std::optional<double> recorded_step_ms(const et_schema::Report& report);

/// A figure of the report and its place in it; "–" where it is not known. `unit` follows it.
[[nodiscard]] Markup shown(const std::string& pointer, const std::optional<double>& value,
                           CellKind kind = CellKind::kFigure, const std::string& unit = "");
[[nodiscard]] Markup shown(const std::string& pointer, std::uint64_t value,
                           CellKind kind = CellKind::kCount);

/// The report's warnings of one of its figures, as a list.
[[nodiscard]] Markup warnings_of(const et_schema::Report& report, const std::string& figure);

/// "1 rank", "8 ranks".
[[nodiscard]] std::string counted(std::uint64_t count, const std::string& noun);

}  // namespace understudy::pages
