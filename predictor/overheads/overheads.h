#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "et_schema/formats/kineto/kineto.h"
#include "predictor/calls/costs.h"

namespace understudy::et_schema {
class JsonField;
}

namespace understudy::predictor {

/// A summary of samples, in nanoseconds.
struct Distribution {
  std::size_t n = 0;
  double mean_ns = 0;
  double p5_ns = 0, p95_ns = 0;
  bool operator==(const Distribution&) const = default;
};
/// Returns the distribution without samples more than 1.5 interquartile ranges outside of
/// quartiles.
[[nodiscard]] Distribution distribution_of(std::vector<double> samples_ns);

/// The issuing thread's time for one operator, from start to end: calls that launch device work,
/// and calls that launch none (`aten::to` does both).
struct OperatorOverheads {
  Distribution launching, unlaunched;
  bool operator==(const OperatorOverheads&) const = default;
};

/// Overheads of a Python loop on one machine: between operators, and in them by name.
struct HostOverheads {
  Distribution gap;
  std::map<std::string, OperatorOverheads> operators = {};
  bool operator==(const HostOverheads&) const = default;
};

/// Samples of one or more workloads on one host.
struct OverheadSamples {
  struct OfOperator {
    std::vector<double> launching_ns, unlaunched_ns;
  };
  std::vector<double> gaps_ns;
  std::map<std::string, OfOperator> operators;
  [[nodiscard]] bool empty() const { return gaps_ns.empty() && operators.empty(); }
};
/// Returns the overheads of a profile's host threads. The observer's cost is subtracted, by the
/// number of events. Operators are the outermost ones. Launches are runtime calls that share a
/// correlation with a device event, so waits and queries do not count. Gaps of 0.2 ms and more
/// belong to the program and are not overhead.
[[nodiscard]] OverheadSamples observe(const et_schema::Profile& profile);
/// Returns the overheads of a program with recorded times: gaps and, if it ran on a device,
/// operators. On a CPU an operator's time is its work.
[[nodiscard]] OverheadSamples observe(const et_schema::Program& program);
/// Adds samples of another workload. All samples count equally, because an operator has similar
/// overheads in all workloads.
void merge(OverheadSamples& into, const OverheadSamples& from);
[[nodiscard]] HostOverheads summarize(const OverheadSamples& samples);

/// Returns the issuing thread's time before an operator.
[[nodiscard]] Estimate gap_of(const HostOverheads& host);
/// Returns the issuing thread's time for a call, without waits for a device. An unknown operator
/// gets that of the median call that launches, or launches nothing (not modelled).
[[nodiscard]] Estimate host_time_of(const HostOverheads& host, const std::string& name,
                                    bool launches);

/// Writes the section `overheads` of a platform file (docs/formats.md).
[[nodiscard]] std::string to_json(const HostOverheads& host);
/// Reads the section. Throws Error (bad input) with the field.
[[nodiscard]] HostOverheads overheads_from_json(const et_schema::JsonField& section);

}  // namespace understudy::predictor
