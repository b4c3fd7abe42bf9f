#pragma once

#include <functional>
#include <string>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/model/device_time.h"
#include "generator/composer/plan/plan.h"

namespace understudy::composer {

/// Reads a plan's source. For traces, `annotation` selects the operators below labels whose name
/// contains it; throws if the source has no labels.
using Load =
    std::function<et_schema::Bench(const PlanSource& source, const std::string& annotation)>;

/// Returns the benchmark that a plan describes. Throws Error (bad input) with the plan's line: a
/// piece that selects nothing, pieces that overlap, ranks of a source that do not fit the job,
/// communication that does not match between ranks. Adds to `sources_account` the time of the
/// sources' steps, and which part of it the pieces contain. A source counts once for each rank that
/// uses it.
[[nodiscard]] et_schema::Bench compose(const Plan& plan, const Load& load,
                                       et_schema::Account* sources_account = nullptr);

}  // namespace understudy::composer
