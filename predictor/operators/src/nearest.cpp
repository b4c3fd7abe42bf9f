#include <algorithm>
#include <cmath>

#include "models.h"

namespace understudy::predictor {
namespace {

std::array<float, kSizes + 1> place_in_sizes(const Point& point) {
  std::array<float, kSizes + 1> place{};
  std::copy_n(point.x.begin() + kFirstSize, kSizes, place.begin());
  // Another element type is farther away than any size.
  constexpr float kFar = 100;
  place[kSizes] = kFar * point.x[kElementBytesFeature];
  return place;
}

}  // namespace

double nearest_residual(const std::vector<Neighbour>& neighbours, const Point& point) {
  constexpr std::size_t kNearest = 5;
  const auto place = place_in_sizes(point);
  std::array<std::pair<float, const Neighbour*>, kNearest> nearest{};
  nearest.fill({std::numeric_limits<float>::infinity(), nullptr});
  for (const Neighbour& neighbour : neighbours) {
    float distance = 0;
    for (std::size_t i = 0; i < place.size(); ++i) {
      distance += (neighbour.at[i] - place[i]) * (neighbour.at[i] - place[i]);
    }
    if (distance < nearest.back().first) {
      nearest.back() = {distance, &neighbour};
      for (std::size_t i = nearest.size() - 1; i > 0 && nearest[i].first < nearest[i - 1].first;
           --i) {
        std::swap(nearest[i], nearest[i - 1]);
      }
    }
  }
  double sum = 0;
  double weights = 0;
  for (const auto& [distance, neighbour] : nearest) {
    if (neighbour != nullptr) {
      constexpr double kNearby = 1e-3;
      const double weight = 1 / (std::sqrt(static_cast<double>(distance)) + kNearby);
      sum += weight * static_cast<double>(neighbour->residual);
      weights += weight;
    }
  }
  return weights > 0 ? sum / weights : 0;
}

CallModel fit_nearest(const Samples& samples) {
  CallModel model{.kind = Candidate::kNearest, .base = roofline_of(samples)};
  model.neighbours.reserve(samples.size());
  for (const Sample* sample : samples) {
    const double residual = sample->ln_ns - roofline_ln(model.base, sample->point);
    model.neighbours.push_back({place_in_sizes(sample->point), static_cast<float>(residual)});
  }
  return model;
}

}  // namespace understudy::predictor
