#pragma once

#include "et_schema/kineto/kineto.h"
#include "et_schema/model/program.h"
#include "predictor/overheads/overheads.h"

namespace understudy::predictor {

/// The cost of recording an event, before its start and after its end. It is the mean of the
/// cheapest fifth of the times between an event's start and that of the first event in it, and
/// between their ends (docs/metrics.md, "Recorded times"); at most 3 and 4 us, and nothing with
/// fewer than 32 samples.
struct ObserverCost {
  double before_ns = 0;
  double after_ns = 0;
  [[nodiscard]] double total_ns() const { return before_ns + after_ns; }
};

/// Overheads of a profile's host threads. The observer's cost is taken out of each by the events
/// that began in it. Operators are the outermost ones. Launches are runtime calls that share a
/// correlation with an event on the device, so neither waits nor queries. Gaps of 0.2 ms and more
/// are the program's own, not overhead.
[[nodiscard]] OverheadSamples observe(const et_schema::Profile& profile);
[[nodiscard]] ObserverCost observer_cost(const et_schema::Profile& profile);

/// Overheads of a program with recorded times: gaps and, if it ran on a device, whole operators (it
/// does not hold single launches). On a CPU an operator's time is its work, not overhead.
[[nodiscard]] OverheadSamples observe(const et_schema::Program& program);

}  // namespace understudy::predictor
