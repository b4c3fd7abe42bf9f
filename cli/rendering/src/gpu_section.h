#pragma once

#include "et_schema/model/report.h"
#include "report_sections.h"

namespace understudy::cli {

/// Each rank's GPU: clocks, power, energy, memory, and what to be warned of. Empty of a replay on
/// the CPU.
[[nodiscard]] Section gpu_section(const et_schema::Report& report);

}  // namespace understudy::cli
