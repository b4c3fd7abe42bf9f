#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

#include "fleet/candidates.h"
#include "fleet/site_data.h"

namespace understudy::cli {
namespace {

constexpr std::array<std::size_t, 3> kBudgets = {5, 10, 20};
/// Ratios of platforms are checked by `fleet select`; a page says how far the choice is from the
/// fleet.
constexpr std::size_t kRandomSubsets = 20;
constexpr std::size_t kShownJobs = 20;

pages::FleetSubset subset_of(const std::vector<fleet::Candidate>& all, std::size_t most_jobs) {
  const fleet::Selection selection =
      fleet::select_jobs(all, {.most_jobs = most_jobs, .random_subsets = kRandomSubsets});
  pages::FleetSubset subset;
  subset.name = fmt::format("{} of {} jobs", selection.jobs.size(), all.size());
  subset.benchmarks = selection.jobs.size();
  subset.mix_distance = selection.mix_distance;
  subset.random_mix_distance = selection.random_mix_distance;
  std::vector<fleet::SelectedJob> weightiest = selection.jobs;
  std::ranges::stable_sort(weightiest, std::greater{}, &fleet::SelectedJob::weight);
  std::vector<std::string> names;
  for (const fleet::SelectedJob& job : weightiest) {
    if (names.size() < kShownJobs) {
      names.push_back(job.job);
    }
  }
  subset.text = fmt::format("{}", fmt::join(names, ", "));
  return subset;
}

}  // namespace

std::vector<pages::FleetSubset> subsets_of(fleet::Connection& connection) {
  const std::vector<fleet::Candidate> all = candidates(connection, "");
  std::vector<pages::FleetSubset> subsets;
  for (const std::size_t budget : kBudgets) {
    if (budget < all.size()) {
      subsets.push_back(subset_of(all, budget));
    }
  }
  return subsets;
}

}  // namespace understudy::cli
