#include "rows.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace understudy::cli {
namespace {

using fleet::Candidate;

// Time of a replay besides its iterations: LibTorch's start and binding, then as many timing passes
// as iterations. A replay runs 20 iterations or 30 s.
constexpr double kStartSeconds = 5;
constexpr double kIterations = 20;
constexpr double kMostSeconds = 30;
constexpr double kMsPerSecond = 1e3;

double replay_seconds(double iteration_ms) {
  return kStartSeconds + 2 * std::min(kMostSeconds, kIterations * iteration_ms / kMsPerSecond);
}

std::map<std::string, double> shares_of(const std::map<std::string, double>& class_ms) {
  double sum = 0;
  for (const auto& [name, ms] : class_ms) {
    sum += ms;
  }
  std::map<std::string, double> shares;
  for (const auto& [name, ms] : class_ms) {
    shares[name] = sum > 0 ? ms / sum : 0;
  }
  return shares;
}

double mean_log2_elements(const fleet::Fingerprint& print) {
  double sum = 0;
  for (const auto& [name, row] : print.operators) {
    sum += row.share * row.log2_elements;
  }
  return sum;
}

double communication_bytes(const fleet::Fingerprint& print) {
  double bytes = 0;
  for (const auto& [name, row] : print.collectives) {
    bytes += static_cast<double>(row.bytes);
  }
  return bytes;
}

std::map<std::string, double> features_of(const fleet::Fingerprint& print, double iteration_ms) {
  return {
      {"iteration", std::log2(1 + iteration_ms)},
      {"shapes", mean_log2_elements(print)},
      {"communication", std::log2(1 + communication_bytes(print))},
      {"memory", std::log2(1 + static_cast<double>(print.live_peak_bytes + print.external_bytes))},
      {"ranks", std::log2(print.world_size)}};
}

}  // namespace

std::vector<Candidate> candidates(const std::vector<BenchmarkRow>& rows,
                                  const std::string& time_on) {
  std::vector<Candidate> list;
  for (const BenchmarkRow& row : rows) {
    const auto time = row.times.find(time_on);
    if (!time_on.empty() && time == row.times.end()) {
      continue;
    }
    const fleet::Fingerprint& print = row.fingerprint;
    Candidate candidate;
    candidate.job = row.job;
    candidate.benchmark_hash = row.benchmark_hash;
    candidate.weight = row.weight;
    const double iteration_ms = time_on.empty() ? print.step_ms : time->second.median_ms;
    candidate.class_share = time_on.empty() ? print.class_share : shares_of(time->second.class_ms);
    candidate.features = features_of(print, iteration_ms);
    candidate.cost_s = replay_seconds(iteration_ms);
    for (const auto& [platform, measured] : row.times) {
      candidate.platform_ms[platform] = measured.median_ms;
    }
    list.push_back(std::move(candidate));
  }
  return list;
}

std::vector<fleet::Selection> usual_subsets(const std::vector<BenchmarkRow>& rows) {
  // Fewer than `fleet select` draws, which also checks ratios of platforms: these subsets only
  // measure the distance from the fleet.
  constexpr std::size_t kRandomSubsets = 20;
  const std::vector<Candidate> all = candidates(rows, "");
  std::vector<fleet::Selection> subsets;
  for (const std::size_t budget : {5UL, 10UL, 20UL}) {
    if (budget < all.size()) {
      subsets.push_back(
          fleet::select_jobs(all, {.most_jobs = budget, .random_subsets = kRandomSubsets}));
    }
  }
  return subsets;
}

}  // namespace understudy::cli
