#pragma once

#include "et_schema/kineto/kineto.h"
#include "et_schema/model/program.h"
#include "predictor/overheads/overheads.h"

namespace understudy::predictor {

/// Overheads of a profile's host threads. The observer's cost is taken out of each by the events
/// that began in it. Operators are the outermost ones. Launches are runtime calls that share a
/// correlation with an event on the device, so neither waits nor queries. Gaps of 0.2 ms and more
/// are the program's own, not overhead.
[[nodiscard]] OverheadSamples observe(const et_schema::Profile& profile);

/// Overheads of a program with recorded times: gaps and, if it ran on a device, whole operators (it
/// does not hold single launches). On a CPU an operator's time is its work, not overhead.
[[nodiscard]] OverheadSamples observe(const et_schema::Program& program);

}  // namespace understudy::predictor
