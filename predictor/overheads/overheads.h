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
/// The distribution without samples that lie outside of the quartiles by more than 1.5 times their
/// distance.
[[nodiscard]] Distribution distribution_of(std::vector<double> samples_ns);

/// One operator's. T2: from its start to its first launch; T3: from its last launch to its end; T5:
/// between two launches, or, of an operator that launches nothing, all of it (Lin et al., arXiv
/// 2404.12674). `whole`: from start to end, of calls whose single launches are not
/// known; `unlaunched`: of calls that launched nothing, which the same operator may do
/// (`aten::to`).
struct OperatorOverheads {
  /// Kinds in order, as in most of its calls: "cudaLaunchKernel".
  std::vector<std::string> launches;
  Distribution t2, t3, t5, whole, unlaunched;
  bool operator==(const OperatorOverheads&) const = default;
};

/// A host: an interpreter or a loop in C++ on one machine. T1: between two operators; T4: of a
/// launch, by its kind.
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
    /// Number of calls that launched these kinds. If the samples come from a program, the kinds are
    /// not known and are empty texts.
    std::map<std::vector<std::string>, std::size_t> launches;
    std::vector<double> t2_ns, t3_ns, t5_ns, whole_ns, unlaunched_ns;
  };
  std::vector<double> t1_ns;
  std::map<std::string, std::vector<double>> t4_ns;
  std::map<std::string, OfOperator> operators;
};
/// Overheads of a profile's host threads. The observer's cost is taken out of each by the events
/// that began in it. Operators are the outermost ones. Launches are runtime calls that share a
/// correlation with an event on the device, so neither waits nor queries. Gaps of 0.2 ms and more
/// are the program's own, not overhead.
[[nodiscard]] OverheadSamples observe(const et_schema::Profile& profile);
/// Overheads of a program with recorded times: gaps and, if it ran on a device, whole operators (it
/// does not hold single launches). On a CPU an operator's time is its work, not overhead.
[[nodiscard]] OverheadSamples observe(const et_schema::Program& program);
/// Adds samples of another workload. An operator has much the same overheads in all workloads, so
/// all samples count alike.
void merge(OverheadSamples& into, const OverheadSamples& from);
[[nodiscard]] HostOverheads summarize(const OverheadSamples& samples, const std::string& host);

/// Time of the issuing thread before an operator.
[[nodiscard]] Estimate gap_of(const HostOverheads& host);
/// Time of the issuing thread for a call with `launches` launches, without waits for a device: T2 +
/// its launches' T4 + T5 between them + T3; `whole` if only that is known, `unlaunched` for a call
/// without launches. An operator that was never seen takes as long as the median operator with that
/// many launches (not modelled).
[[nodiscard]] Estimate host_time_of(const HostOverheads& host, const std::string& name,
                                    std::size_t launches);

/// The section `overheads` of a platform file (docs/formats.md): one JSON object, hosts by name.
[[nodiscard]] std::string to_json(const std::vector<HostOverheads>& hosts);
/// Reads it back. Throws Error (bad input) with the field.
[[nodiscard]] std::vector<HostOverheads> overheads_from_json(const et_schema::JsonField& section);

}  // namespace understudy::predictor
