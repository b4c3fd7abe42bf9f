// Simple rules that models must beat.

#include <algorithm>
#include <cmath>

#include "operator_rows.h"
#include "predictor/fitting/errors.h"
#include "predictor/operators/anchored.h"

namespace operator_study {
namespace {

/// Mean |error| of large calls in %; unset if nothing was predicted.
template <typename Predict>
std::optional<double> large_mape(const Rows& rows, const Predict& predict) {
  std::vector<double> missed;
  for (const Row& row : rows) {
    if (const double ns = row.ns() > kLargeNs ? predict(row) : 0; ns > 0) {
      missed.push_back(std::log(row.ns() / ns));
    }
  }
  return missed.empty() ? std::nullopt
                        : std::optional(kPercent * understudy::predictor::errors_of(missed).mean);
}

double median_ratio(const CardRows& card, const std::vector<CardRows>& all) {
  std::vector<double> ratios;
  for (const CardRows& other : all) {
    for (const Row& row : other.rows) {
      if (&other != &card && row.ns() > kLargeNs) {
        ratios.push_back(row.ns() / row.bound_ns);
      }
    }
  }
  std::ranges::sort(ratios);
  return ratios.empty() ? 0 : ratios[ratios.size() / 2];
}

}  // namespace

std::map<std::string, std::optional<double>> baselines_of(const CardRows& card,
                                                          const std::vector<CardRows>& all,
                                                          const CardRows* sister) {
  std::map<std::string, std::optional<double>> figures;
  double noise = 0, pairs = 0;
  std::map<std::string, double> again;
  for (const Row& row : card.again) {
    again[row.shape] = row.ns();
  }
  for (const Row& row : card.rows) {
    if (const auto pair = again.find(row.shape); pair != again.end() && row.ns() > kLargeNs) {
      noise += std::abs(std::log(row.ns() / pair->second));
      pairs += 1;
    }
  }
  figures["noise"] = pairs > 0 ? std::optional(kPercent * noise / pairs) : std::nullopt;
  if (sister == nullptr) {
    return figures;
  }
  std::map<std::string, const Row*> there;
  for (const Row& row : sister->rows) {
    there[row.shape] = &row;
  }
  const auto of_same = [&](const auto& ns_of) {
    return large_mape(card.rows, [&](const Row& row) {
      const auto same = there.find(row.shape);
      return same == there.end() ? 0 : ns_of(*same->second);
    });
  };
  const double ratio = median_ratio(card, all);
  figures["roofline"] = large_mape(card.rows, [&](const Row& row) { return row.bound_ns * ratio; });
  figures["unscaled"] = of_same([](const Row& row) { return row.ns(); });
  figures["anchored"] = of_same([&](const Row& row) {
    return understudy::predictor::anchored_time({.call = row.measured.call, .ns = row.ns()},
                                                *sister->card, *card.card)
        .total_ns();
  });
  return figures;
}

}  // namespace operator_study
