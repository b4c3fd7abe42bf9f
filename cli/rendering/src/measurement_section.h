#pragma once

#include <string>
#include <string_view>

#include "report_sections.h"

namespace understudy::cli {

// What was measured, how it came to its end, and what speaks against it.

[[nodiscard]] Section iteration_section(const et_schema::Report& report);
/// A line for each warning about a figure, to stand below it; empty if there is none.
/// What is said above all figures where the replay has NaN; empty where it has none.
[[nodiscard]] std::string nan_text(const et_schema::Report& report);
[[nodiscard]] std::string warnings_text(const et_schema::Report& report, std::string_view figure);
/// A line that says so; empty of a report that is complete.
[[nodiscard]] std::string incomplete_text(const et_schema::Report& report);

}  // namespace understudy::cli
