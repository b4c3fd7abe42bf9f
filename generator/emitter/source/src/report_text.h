#pragma once

#include <string>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/model/report.h"
#include "generator/emitter/source/emit.h"

namespace understudy::emitter {

/// Returns the report of one rank's program before any measurement. `refused`: see StepText.
[[nodiscard]] et_schema::RankReport rank_report(const et_schema::Program& program,
                                                const std::vector<std::string>& refused);

/// Returns a project's report without measured values, which the project fills in.
[[nodiscard]] std::string report_text(const et_schema::Bench& bench,
                                      std::vector<et_schema::RankReport> ranks,
                                      const std::string& name);

}  // namespace understudy::emitter
