#pragma once

#include "report_sections.h"

namespace understudy::cli {

// How the replay ran, and what the original did; empty where the report does not know.

[[nodiscard]] Section original_section(const et_schema::Report& report);
[[nodiscard]] Section pace_section(const et_schema::RunFigures& total);
[[nodiscard]] Section counters_section(const et_schema::RunFigures& total);

}  // namespace understudy::cli
