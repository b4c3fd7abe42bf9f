#include "predictor/collectives/sigmoid.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "predictor/fitting/least_squares.h"

namespace understudy::predictor {
namespace {

constexpr std::size_t kLeastSizes = 5;
constexpr double kBytesPerUsPerGbPerS = 1e3;

double busbw_gb_per_s(const SizeTime& point, double factor) {
  return point.bytes * factor / point.us / kBytesPerUsPerGbPerS;
}

/// The published rule: the last index of the flat region.
std::size_t flat_end(const std::vector<SizeTime>& sweep) {
  constexpr std::size_t kFirst = 5;
  constexpr double kRise = 0.1;
  constexpr std::size_t kDefault = 4;
  for (std::size_t i = kFirst; i + 1 < sweep.size(); ++i) {
    const double rise = (sweep[i + 1].us - sweep[i - 1].us) / 2 / sweep[i].us;
    if (std::abs(rise) > kRise) {
      return i - 1;
    }
  }
  return kDefault;
}

/// The published rule: two beyond the last size below 95 % of the highest bandwidth.
std::size_t saturated_begin(const std::vector<double>& busbw, double max) {
  constexpr double kSaturated = 0.95;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < busbw.size(); ++i) {
    if (busbw[i] < kSaturated * max) {
      begin = i + 2;
    }
  }
  return std::min(begin, busbw.size() - 1);
}

double curve(const std::vector<double>& p, double x) {
  return p[0] / (1 + std::exp(-p[2] * (x - p[1]))) + p[3];
}

}  // namespace

double sigmoid_us(const BandwidthSigmoid& sigmoid, double bytes, double factor) {
  const double x = std::log2(bytes);
  if (x <= sigmoid.start_log2) {
    return sigmoid.overhead_us;
  }
  if (x > sigmoid.saturation_log2) {
    return bytes * factor / sigmoid.max_gb_per_s / kBytesPerUsPerGbPerS +
           (sigmoid.adds_overhead ? sigmoid.overhead_us : 0);
  }
  const double log10_bw = curve({sigmoid.l, sigmoid.x0, sigmoid.k, sigmoid.b}, x);
  return bytes * factor / std::pow(10, log10_bw) / kBytesPerUsPerGbPerS;
}

std::optional<BandwidthSigmoid> fit_sigmoid(const std::vector<SizeTime>& sweep, double factor,
                                            Regions regions) {
  if (sweep.size() < kLeastSizes || !(factor > 0)) {
    return std::nullopt;
  }
  std::vector<double> busbw;
  for (const SizeTime& point : sweep) {
    busbw.push_back(busbw_gb_per_s(point, factor));
  }
  BandwidthSigmoid fitted;
  fitted.max_gb_per_s = *std::ranges::max_element(busbw);
  const bool has_flat = regions == Regions::kPublished;
  const std::size_t first = has_flat ? flat_end(sweep) : 0;
  const std::size_t last = saturated_begin(busbw, fitted.max_gb_per_s);
  constexpr double kNone = -1;  // below any size
  fitted.start_log2 = has_flat ? std::log2(sweep[first].bytes) : kNone;
  fitted.saturation_log2 = std::log2(sweep[last].bytes);
  fitted.overhead_us = has_flat ? sweep[first].us : 0;
  std::vector<double> x;
  std::vector<double> y;
  for (std::size_t i = first; i < sweep.size() && (!has_flat || i <= last); ++i) {
    x.push_back(std::log2(sweep[i].bytes));
    y.push_back(std::log10(busbw[i]));
  }
  if (x.empty()) {
    return std::nullopt;
  }
  const std::vector<double> start = {*std::ranges::max_element(y), x[x.size() / 2], 1,
                                     *std::ranges::min_element(y)};
  const std::vector<double> p = minimize_squares(
      [&](const std::vector<double>& at) {
        std::vector<double> residuals;
        for (std::size_t i = 0; i < x.size(); ++i) {
          residuals.push_back(curve(at, x[i]) - y[i]);
        }
        return residuals;
      },
      start);
  fitted.l = p[0];
  fitted.x0 = p[1];
  fitted.k = p[2];
  fitted.b = p[3];
  return fitted;
}

}  // namespace understudy::predictor
