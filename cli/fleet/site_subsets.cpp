#include <array>

#include "fleet/candidates.h"
#include "fleet/site_data.h"

namespace understudy::cli {

std::vector<fleet::Selection> subsets_of(fleet::Connection& connection) {
  constexpr std::array<std::size_t, 3> kBudgets = {5, 10, 20};
  // Ratios of platforms are checked by `fleet select`; a page says how far the
  // choice is from the fleet.
  constexpr std::size_t kRandomSubsets = 20;
  const std::vector<fleet::Candidate> all = candidates(connection, "");
  std::vector<fleet::Selection> subsets;
  for (const std::size_t budget : kBudgets) {
    if (budget < all.size()) {
      subsets.push_back(
          fleet::select_jobs(all, {.most_jobs = budget, .random_subsets = kRandomSubsets}));
    }
  }
  return subsets;
}

}  // namespace understudy::cli
