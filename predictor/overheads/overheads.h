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
  double mean_ns = 0;
  double deviation_ns = 0;
  std::size_t n = 0;
  double p5_ns = 0, median_ns = 0, p95_ns = 0;
  bool operator==(const Distribution&) const = default;
};
/// Returns the distribution without samples more than 1.5 interquartile ranges outside of
/// quartiles.
[[nodiscard]] Distribution distribution_of(std::vector<double> samples_ns);

/// Overheads of one operator (Lin et al., arXiv 2404.12674). T2: from its start to its first
/// launch. T3: from its last launch to its end. T5: between two launches, or the whole operator if
/// it launches nothing. `whole`: from start to end, if single launches are unknown. `unlaunched`:
/// calls without launches of an operator that otherwise launches (`aten::to`).
struct OperatorOverheads {
  /// Kinds of launches in order, as in most of its calls: "cudaLaunchKernel".
  std::vector<std::string> launches;
  Distribution t2, t3, t5, whole, unlaunched;
  bool operator==(const OperatorOverheads&) const = default;
};

/// Overheads of a Python or C++ loop on one machine. T1: between operators. T4: of a launch, by
/// kind.
struct HostOverheads {
  std::string host;  ///< "python", "c++"
  Distribution t1 = {};
  std::map<std::string, Distribution> t4 = {};
  std::map<std::string, OperatorOverheads> operators = {};
  bool operator==(const HostOverheads&) const = default;
};

/// Samples of one or more workloads on one host.
struct OverheadSamples {
  struct OfOperator {
    /// Sequence of the kinds of a call's launches → number of such calls. A program does not record
    /// kinds: its sequences have one empty string for each launch.
    std::map<std::vector<std::string>, std::size_t> launches;
    std::vector<double> t2_ns, t3_ns, t5_ns, whole_ns, unlaunched_ns;
  };
  std::vector<double> t1_ns;
  std::map<std::string, std::vector<double>> t4_ns;
  std::map<std::string, OfOperator> operators;
};
/// Returns the overheads of a profile's host threads. The observer's cost is subtracted, by the
/// number of events. Operators are the outermost ones. Launches are runtime calls that share a
/// correlation with a device event, so waits and queries do not count. Gaps of 0.2 ms and more
/// belong to the program and are not overhead.
[[nodiscard]] OverheadSamples observe(const et_schema::Profile& profile);
/// Returns the overheads of a program with recorded times: gaps and, if it ran on a device, whole
/// operators (single launches are not recorded). On a CPU an operator's time is its work.
[[nodiscard]] OverheadSamples observe(const et_schema::Program& program);
/// Adds samples of another workload. All samples count equally, because an operator has similar
/// overheads in all workloads.
void merge(OverheadSamples& into, const OverheadSamples& from);
[[nodiscard]] HostOverheads summarize(const OverheadSamples& samples, const std::string& host);

/// Returns the issuing thread's time before an operator.
[[nodiscard]] Estimate gap_of(const HostOverheads& host);
/// Returns the issuing thread's time for a call with `launches` launches, without waits for a
/// device: T2 + T4 of its launches + T5 between them + T3; `whole` if only that is known,
/// `unlaunched` for a call without launches. An unknown operator gets the time of the median
/// operator with as many launches (not modelled).
[[nodiscard]] Estimate host_time_of(const HostOverheads& host, const std::string& name,
                                    std::size_t launches);

/// Writes the section `overheads` of a platform file (docs/formats.md): a JSON object by host.
[[nodiscard]] std::string to_json(const std::vector<HostOverheads>& hosts);
/// Reads the section. Throws Error (bad input) with the field.
[[nodiscard]] std::vector<HostOverheads> overheads_from_json(const et_schema::JsonField& section);

}  // namespace understudy::predictor
