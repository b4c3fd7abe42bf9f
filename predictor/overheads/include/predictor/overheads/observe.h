#pragma once

#include "et_schema/kineto/kineto.h"
#include "et_schema/model/program.h"
#include "predictor/overheads/overheads.h"

namespace understudy::predictor {

/// What recording an event cost: before its start and behind its end. The mean of the cheapest
/// fifth of what lies between an event's start and that of the first one in it, and between their
/// ends (docs/metrics.md, "Recorded times"); at most 3 and 4 us, nothing from fewer than 32.
struct ObserverCost {
  double before_ns = 0;
  double after_ns = 0;
  [[nodiscard]] double total_ns() const { return before_ns + after_ns; }
};

/// Overheads of a profile's host threads, the observer's cost taken out of each by the events that
/// began in it. Operators are the outermost; launches are runtime calls that have their own
/// correlation with an event on the device, so neither waits nor queries. Gaps of 0.2 ms and more
/// are the program's own, no overhead.
[[nodiscard]] OverheadSamples observe(const et_schema::Profile& profile);
[[nodiscard]] ObserverCost observer_cost(const et_schema::Profile& profile);

/// From a program with recorded times: gaps; of one that ran on a device whole operators, too
/// (single launches are not in it). On a CPU an operator's time is its work, no overhead.
[[nodiscard]] OverheadSamples observe(const et_schema::Program& program);

}  // namespace understudy::predictor
