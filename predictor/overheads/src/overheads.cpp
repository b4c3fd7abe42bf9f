#include "predictor/overheads/overheads.h"

#include <algorithm>
#include <utility>

#include "et_schema/base/json_record.h"
#include "et_schema/base/statistics.h"
#include "et_schema/model/report.h"

namespace understudy::predictor {
namespace {

constexpr double kLow = 0.05;
constexpr double kHalf = 0.5;
constexpr double kHigh = 0.95;

void append(std::vector<double>& into, const std::vector<double>& from) {
  into.insert(into.end(), from.begin(), from.end());
}

Estimate estimate_of(const Distribution& distribution) {
  return {.ns = distribution.mean_ns,
          .low_ns = std::min(distribution.p5_ns, distribution.mean_ns),
          .high_ns = std::max(distribution.p95_ns, distribution.mean_ns),
          .model = "host overheads"};
}

/// Returns the distribution of such calls, or, if there are none, of the operator's other calls.
const Distribution& usual(const OperatorOverheads& overheads, bool launches) {
  const bool takes_launching = launches ? overheads.launching.n > 0 : overheads.unlaunched.n == 0;
  return takes_launching ? overheads.launching : overheads.unlaunched;
}

}  // namespace

Distribution distribution_of(std::vector<double> samples_ns) {
  if (samples_ns.empty()) {
    return {};
  }
  constexpr double kFirstQuarter = 0.25;
  constexpr double kThirdQuarter = 0.75;
  constexpr double kFence = 1.5;
  std::ranges::sort(samples_ns);
  const double first = *et_schema::percentile(samples_ns, kFirstQuarter);
  const double third = *et_schema::percentile(samples_ns, kThirdQuarter);
  const double fence = kFence * (third - first);
  std::erase_if(samples_ns, [&](double ns) { return ns < first - fence || ns > third + fence; });
  return {samples_ns.size(), et_schema::mean(samples_ns), *et_schema::percentile(samples_ns, kLow),
          *et_schema::percentile(samples_ns, kHigh)};
}

void merge(OverheadSamples& into, const OverheadSamples& from) {
  append(into.gaps_ns, from.gaps_ns);
  for (const auto& [name, of_operator] : from.operators) {
    OverheadSamples::OfOperator& known = into.operators[name];
    append(known.launching_ns, of_operator.launching_ns);
    append(known.unlaunched_ns, of_operator.unlaunched_ns);
  }
}

HostOverheads summarize(const OverheadSamples& samples) {
  HostOverheads overheads{.gap = distribution_of(samples.gaps_ns)};
  for (const auto& [name, of_operator] : samples.operators) {
    overheads.operators[name] = {distribution_of(of_operator.launching_ns),
                                 distribution_of(of_operator.unlaunched_ns)};
  }
  return overheads;
}

Estimate gap_of(const HostOverheads& host) {
  return estimate_of(host.gap);
}

Estimate host_time_of(const HostOverheads& host, const std::string& name, bool launches) {
  const auto found = host.operators.find(name);
  if (found != host.operators.end()) {
    return estimate_of(usual(found->second, launches));
  }
  std::vector<std::pair<double, double>> means_ns;  // with the calls of each
  double calls = 0;
  for (const auto& [other, overheads] : host.operators) {
    const Distribution& alike = launches ? overheads.launching : overheads.unlaunched;
    if (alike.n > 0) {
      means_ns.emplace_back(alike.mean_ns, static_cast<double>(alike.n));
      calls += means_ns.back().second;
    }
  }
  std::ranges::sort(means_ns);
  const auto of_calls = [&](double share) {
    double before = 0;
    const auto found = std::ranges::find_if(means_ns, [&](const auto& mean) {
      before += mean.second;
      return before >= share * calls;
    });
    return found->first;
  };
  Estimate answer;
  answer.model = "median call's host overheads";
  answer.modelled = false;
  answer.extrapolated = true;
  if (!means_ns.empty()) {
    answer.ns = of_calls(kHalf);
    answer.low_ns = of_calls(kLow);
    answer.high_ns = of_calls(kHigh);
  }
  return answer;
}

using et_schema::kNotNegative;
using et_schema::SameAs;

void members(auto& json, SameAs<Distribution> auto& distribution) {
  json("n", distribution.n);
  json("mean_ns", distribution.mean_ns, kNotNegative);
  json("p5_ns", distribution.p5_ns, kNotNegative);
  json("p95_ns", distribution.p95_ns, kNotNegative);
}

void members(auto& json, SameAs<OperatorOverheads> auto& overheads) {
  json("launching", overheads.launching);
  json("unlaunched", overheads.unlaunched);
}

void members(auto& json, SameAs<HostOverheads> auto& host) {
  json("gap", host.gap);
  json("operators", host.operators);
}

std::string to_json(const HostOverheads& host) {
  return et_schema::json_of(host).dump();
}

HostOverheads overheads_from_json(const et_schema::JsonField& section) {
  return et_schema::read_json<HostOverheads>(section);
}

}  // namespace understudy::predictor
