#include <algorithm>
#include <cmath>

#include "models.h"

namespace understudy::predictor {
namespace {

constexpr std::size_t kNeighbours = 5;

}  // namespace

std::array<float, kSizes + 1> NearestModel::place_of(const Point& point) {
  std::array<float, kSizes + 1> place{};
  std::copy_n(point.x.begin() + kFirstSize, kSizes, place.begin());
  // Another element type is farther away than any size.
  constexpr float kFar = 100;
  place[kSizes] = kFar * point.x[kElementBytesFeature];
  return place;
}

double NearestModel::ln_ns(const Point& point) const {
  const auto place = place_of(point);
  std::array<std::pair<float, const Entry*>, kNeighbours> nearest{};
  nearest.fill({std::numeric_limits<float>::infinity(), nullptr});
  for (const Entry& entry : entries_) {
    float distance = 0;
    for (std::size_t i = 0; i < place.size(); ++i) {
      distance += (entry.at[i] - place[i]) * (entry.at[i] - place[i]);
    }
    if (distance < nearest.back().first) {
      nearest.back() = {distance, &entry};
      for (std::size_t i = nearest.size() - 1; i > 0 && nearest[i].first < nearest[i - 1].first;
           --i) {
        std::swap(nearest[i], nearest[i - 1]);
      }
    }
  }
  double sum = 0;
  double weights = 0;
  for (const auto& [distance, entry] : nearest) {
    if (entry != nullptr) {
      constexpr double kNearby = 1e-3;
      const double weight = 1 / (std::sqrt(static_cast<double>(distance)) + kNearby);
      sum += weight * static_cast<double>(entry->residual);
      weights += weight;
    }
  }
  return std::log(roofline_ns(roofline_, point.compute_ns, point.memory_ns)) +
         (weights > 0 ? sum / weights : 0);
}

std::unique_ptr<CallModel> fit_nearest(const Samples& samples) {
  const TwoClock roofline = fit_roofline(roofline_samples(samples));
  std::vector<NearestModel::Entry> entries;
  entries.reserve(samples.size());
  for (const Sample* sample : samples) {
    const double base =
        std::log(roofline_ns(roofline, sample->point.compute_ns, sample->point.memory_ns));
    entries.push_back(
        {NearestModel::place_of(sample->point), static_cast<float>(sample->ln_ns - base)});
  }
  return std::make_unique<NearestModel>(roofline, std::move(entries));
}

}  // namespace understudy::predictor
