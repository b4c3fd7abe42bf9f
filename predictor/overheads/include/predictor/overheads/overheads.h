#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "predictor/calls/costs.h"

namespace understudy::et_schema {
class JsonField;
}

namespace understudy::predictor {

/// What is kept of samples, nanoseconds. Quantiles are those of the samples where these were there,
/// else of a normal distribution with this mean and deviation, cut at 0.
struct Distribution {
  double mean_ns = 0;
  double deviation_ns = 0;
  std::size_t n = 0;
  double p5_ns = 0, median_ns = 0, p95_ns = 0;
  bool operator==(const Distribution&) const = default;
};
/// Without what lies more than 1.5 times the quartiles' distance outside of them.
[[nodiscard]] Distribution distribution_of(std::vector<double> samples_ns);
[[nodiscard]] Distribution distribution_of(double mean_ns, double deviation_ns, std::size_t n);

/// One operator's. T2: from its start to its first launch; T3: from its last launch to its end; T5:
/// between two launches, or, of an operator that launches nothing, all of it (Lin et al., arXiv
/// 2404.12674). `whole`: from start to end, of calls whose single launches are not
/// known; `unlaunched`: of calls that launched nothing, which the same operator may do
/// (`aten::to`).
struct OperatorOverheads {
  std::vector<std::string> launches;  ///< kinds, in order, as most of its calls: "cudaLaunchKernel"
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
    /// How many calls launched these; of a program kinds are not known: as many empty ones.
    std::map<std::vector<std::string>, std::size_t> launches;
    std::vector<double> t2_ns, t3_ns, t5_ns, whole_ns, unlaunched_ns;
  };
  std::vector<double> t1_ns;
  std::map<std::string, std::vector<double>> t4_ns;
  std::map<std::string, OfOperator> operators;
};
/// Overheads of an operator are much the same in all workloads: samples of all count alike.
void merge(OverheadSamples& into, const OverheadSamples& from);
[[nodiscard]] HostOverheads summarize(const OverheadSamples& samples, const std::string& host);

/// Of the issuing thread before an operator.
[[nodiscard]] Estimate gap_of(const HostOverheads& host);
/// Of the issuing thread for a call with so many launches, waits for a device excluded: T2 + its
/// launches' T4 + T5 between them + T3; `whole` where only that is known, `unlaunched` of a call
/// without launches. An operator that was never seen takes what
/// the median operator takes with as many launches (not modelled).
[[nodiscard]] Estimate host_time_of(const HostOverheads& host, const std::string& name,
                                    std::size_t launches);

/// The section `overheads` of a platform file (docs/formats.md): one JSON object, hosts by name.
[[nodiscard]] std::string to_json(const std::vector<HostOverheads>& hosts);
/// Reads it back. Throws Error (bad input) with the field.
[[nodiscard]] std::vector<HostOverheads> overheads_from_json(const et_schema::JsonField& section);

}  // namespace understudy::predictor
