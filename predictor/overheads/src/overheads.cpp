#include "predictor/overheads/overheads.h"

#include <algorithm>
#include <cmath>

#include "et_schema/base/json_record.h"
#include "et_schema/base/statistics.h"
#include "et_schema/model/report.h"

namespace understudy::predictor {
namespace {

constexpr double kLow = 0.05;
constexpr double kHalf = 0.5;
constexpr double kHigh = 0.95;
/// Distance of a normal distribution's 95th percentile from its mean, in deviations.
constexpr double kDeviations = 1.645;

void append(std::vector<double>& into, const std::vector<double>& from) {
  into.insert(into.end(), from.begin(), from.end());
}

/// A sum of independent parts: means and variances add up.
class Sum {
 public:
  void add(const Distribution& part, double count = 1) {
    mean_ns_ += count * part.mean_ns;
    variance_ += count * part.deviation_ns * part.deviation_ns;
  }
  [[nodiscard]] Estimate estimate(const char* model) const {
    const double width = kDeviations * std::sqrt(variance_);
    return {.ns = mean_ns_,
            .low_ns = std::max(0.0, mean_ns_ - width),
            .high_ns = mean_ns_ + width,
            .model = model};
  }

 private:
  double mean_ns_ = 0;
  double variance_ = 0;
};

Estimate estimate_of(const Distribution& distribution, const char* model) {
  return {.ns = distribution.mean_ns,
          .low_ns = std::min(distribution.p5_ns, distribution.mean_ns),
          .high_ns = std::max(distribution.p95_ns, distribution.mean_ns),
          .model = model};
}

/// Returns the distribution of a launch. An unknown kind gets the mean over the known kinds.
Distribution launch_of(const HostOverheads& host, const std::string& kind) {
  const auto found = host.t4.find(kind);
  if (found != host.t4.end()) {
    return found->second;
  }
  Distribution mean;
  for (const auto& [other, t4] : host.t4) {
    mean.mean_ns += t4.mean_ns / static_cast<double>(host.t4.size());
    mean.deviation_ns = std::max(mean.deviation_ns, t4.deviation_ns);
  }
  return mean;
}

/// Returns the estimate for a call like most recorded calls, or the most similar known case.
Estimate of_known(const HostOverheads& host, const OperatorOverheads& known, std::size_t launches) {
  if (launches == 0 && known.unlaunched.n > 0) {
    return estimate_of(known.unlaunched, "host overheads");
  }
  if (known.t2.n == 0 && known.whole.n > 0) {
    return estimate_of(known.whole, "host overheads, whole operators");
  }
  if (known.launches.empty()) {
    return estimate_of(known.unlaunched.n > 0 ? known.unlaunched : known.t5, "host overheads");
  }
  Sum sum;
  sum.add(known.t2);
  sum.add(known.t3);
  const std::size_t count = std::max<std::size_t>(launches, 1);
  sum.add(known.t5, static_cast<double>(count - 1));
  // With another number of launches, each gets the mean of the recorded ones.
  const double times = static_cast<double>(count) / static_cast<double>(known.launches.size());
  for (const std::string& kind : known.launches) {
    sum.add(launch_of(host, kind), times);
  }
  return sum.estimate("host overheads");
}

/// Returns the most frequent sequence of launches among the operator's calls. Calls without
/// launches are ignored unless all calls are without launches.
std::vector<std::string> usual_launches(const OverheadSamples::OfOperator& of_operator) {
  const auto rank = [](const auto& entry) { return entry.first.empty() ? 0 : entry.second; };
  const auto most = std::ranges::max_element(of_operator.launches, {}, rank);
  return most == of_operator.launches.end() ? std::vector<std::string>() : most->first;
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
  Distribution kept;
  kept.n = samples_ns.size();
  const auto n = static_cast<double>(kept.n);
  for (const double ns : samples_ns) {
    kept.mean_ns += ns / n;
  }
  for (const double ns : samples_ns) {
    kept.deviation_ns += (ns - kept.mean_ns) * (ns - kept.mean_ns) / n;
  }
  kept.deviation_ns = std::sqrt(kept.deviation_ns);
  kept.p5_ns = *et_schema::percentile(samples_ns, kLow);
  kept.median_ns = *et_schema::percentile(samples_ns, kHalf);
  kept.p95_ns = *et_schema::percentile(samples_ns, kHigh);
  return kept;
}

void merge(OverheadSamples& into, const OverheadSamples& from) {
  append(into.t1_ns, from.t1_ns);
  for (const auto& [kind, samples] : from.t4_ns) {
    append(into.t4_ns[kind], samples);
  }
  for (const auto& [name, of_operator] : from.operators) {
    OverheadSamples::OfOperator& known = into.operators[name];
    for (const auto& [launches, calls] : of_operator.launches) {
      known.launches[launches] += calls;
    }
    append(known.t2_ns, of_operator.t2_ns);
    append(known.t3_ns, of_operator.t3_ns);
    append(known.t5_ns, of_operator.t5_ns);
    append(known.whole_ns, of_operator.whole_ns);
    append(known.unlaunched_ns, of_operator.unlaunched_ns);
  }
}

HostOverheads summarize(const OverheadSamples& samples, const std::string& host) {
  HostOverheads overheads;
  overheads.host = host;
  overheads.t1 = distribution_of(samples.t1_ns);
  for (const auto& [kind, t4] : samples.t4_ns) {
    overheads.t4[kind] = distribution_of(t4);
  }
  for (const auto& [name, of_operator] : samples.operators) {
    overheads.operators[name] = {
        usual_launches(of_operator),           distribution_of(of_operator.t2_ns),
        distribution_of(of_operator.t3_ns),    distribution_of(of_operator.t5_ns),
        distribution_of(of_operator.whole_ns), distribution_of(of_operator.unlaunched_ns)};
  }
  return overheads;
}

Estimate gap_of(const HostOverheads& host) {
  return estimate_of(host.t1, "host overheads");
}

Estimate host_time_of(const HostOverheads& host, const std::string& name, std::size_t launches) {
  const auto found = host.operators.find(name);
  if (found != host.operators.end()) {
    return of_known(host, found->second, launches);
  }
  std::vector<double> alike;
  std::vector<double> all;
  for (const auto& [other, overheads] : host.operators) {
    const double ns = of_known(host, overheads, overheads.launches.size()).ns;
    all.push_back(ns);
    if (overheads.launches.size() == launches) {
      alike.push_back(ns);
    }
  }
  std::vector<double>& chosen = alike.empty() ? all : alike;
  std::ranges::sort(chosen);
  Estimate answer;
  answer.model = "median operator's host overheads";
  answer.modelled = false;
  answer.extrapolated = true;
  if (!chosen.empty()) {
    answer.ns = *et_schema::percentile(chosen, kHalf);
    answer.low_ns = *et_schema::percentile(chosen, kLow);
    answer.high_ns = *et_schema::percentile(chosen, kHigh);
  }
  return answer;
}

using et_schema::kNotNegative;
using et_schema::SameAs;

void members(auto& json, SameAs<Distribution> auto& distribution) {
  json("n", distribution.n);
  json("mean_ns", distribution.mean_ns, kNotNegative);
  json("deviation_ns", distribution.deviation_ns, kNotNegative);
  json("p5_ns", distribution.p5_ns, kNotNegative);
  json("median_ns", distribution.median_ns, kNotNegative);
  json("p95_ns", distribution.p95_ns, kNotNegative);
}

void members(auto& json, SameAs<OperatorOverheads> auto& overheads) {
  json("launches", overheads.launches);
  json("t2", overheads.t2);
  json("t3", overheads.t3);
  json("t5", overheads.t5);
  json("whole", overheads.whole);
  json("unlaunched", overheads.unlaunched);
}

void members(auto& json, SameAs<HostOverheads> auto& host) {
  json("host", host.host);
  json("t1", host.t1);
  json("t4", host.t4);
  json("operators", host.operators);
}

std::string to_json(const std::vector<HostOverheads>& hosts) {
  return nlohmann::ordered_json{{"hosts", et_schema::json_of(hosts)}}.dump();
}

std::vector<HostOverheads> overheads_from_json(const et_schema::JsonField& section) {
  return et_schema::read_json<std::vector<HostOverheads>>(section.at("hosts"));
}

}  // namespace understudy::predictor
