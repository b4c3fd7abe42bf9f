#include "predictor/overheads/overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "et_schema/base/json_record.h"
#include "et_schema/base/quote.h"
#include "et_schema/base/statistics.h"

namespace understudy::predictor {
namespace {

struct Sums {
  double alone = 0;
  double alone_squares = 0;
  double beside = 0;
};

Sums sums_of(const std::vector<OverlapPair>& pairs) {
  Sums sums;
  for (const OverlapPair& pair : pairs) {
    sums.alone += pair.alone_ns;
    sums.alone_squares += pair.alone_ns * pair.alone_ns;
    sums.beside += pair.beside_ns;
  }
  return sums;
}

Errors errors_without_each(const std::vector<OverlapPair>& pairs, const Sums& sums) {
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const OverlapPair& pair : pairs) {
    const double others =
        (sums.beside - pair.beside_ns) / std::max(sums.alone - pair.alone_ns, 1e-9);
    predicted.push_back(std::max(others, 1.0) * pair.alone_ns);
    measured.push_back(pair.beside_ns);
  }
  return summarize_errors(predicted, measured);
}

}  // namespace

PooledFactor pool(const std::vector<OverlapPair>& pairs) {
  PooledFactor pooled;
  if (pairs.empty()) {
    return pooled;
  }
  const Sums sums = sums_of(pairs);
  // Effective number of calls: their number if all take equal time, about 1 if one call dominates.
  const double groups = sums.alone * sums.alone / sums.alone_squares;
  // For equal times this is a whole number, apart from rounding.
  constexpr double kRounding = 1e-9;
  if (groups < kLeastOverlapGroups - kRounding) {
    pooled.outcome = PooledOverlap::kTooFew;
    return pooled;
  }
  const double ratio = sums.beside / sums.alone;
  double squares = 0;
  double own_squares = 0;
  for (const OverlapPair& pair : pairs) {
    const double off_ns = pair.beside_ns - ratio * pair.alone_ns;
    squares += off_ns * off_ns;
    own_squares += off_ns * off_ns / pair.alone_ns;
    pooled.factor.calls += pair.calls;
  }
  constexpr double kOutside = 0.1;  // a twentieth on either side
  const double half = et_schema::t_of_two_sided_p(kOutside, groups - 1) *
                      std::sqrt(squares * groups / (groups - 1)) / sums.alone;
  if (ratio + half < 1) {
    pooled.outcome = PooledOverlap::kFaster;
    return pooled;
  }
  const auto bounded = [](double factor) { return std::clamp(factor, 1.0, kMostOverlapFactor); };
  pooled.outcome = PooledOverlap::kFactor;
  pooled.factor.factor = bounded(ratio);
  pooled.factor.low = bounded(ratio - half);
  pooled.factor.high = bounded(ratio + half);
  pooled.factor.deviation = std::sqrt(own_squares / sums.alone);
  pooled.factor.groups = pairs.size();
  pooled.left_out = errors_without_each(pairs, sums);
  return pooled;
}

void replace_overlap(std::vector<DeviceOverlap>& devices, const std::vector<DeviceOverlap>& more) {
  for (const DeviceOverlap& one : more) {
    const auto found = std::ranges::find(devices, one.device, &DeviceOverlap::device);
    if (found == devices.end()) {
      devices.push_back(one);
    } else {
      *found = one;
    }
  }
  std::ranges::sort(devices, {}, &DeviceOverlap::device);
}

using et_schema::JsonField;
using et_schema::SameAs;

void members(auto& json, SameAs<OverlapFactor> auto& factor) {
  static_assert(kMostOverlapFactor == 100, "the text below says so");
  constexpr et_schema::NumberRange kFactor = {"a factor from 1 to 100", [](double value) {
                                                return value >= 1 && value <= kMostOverlapFactor;
                                              }};
  json("factor", factor.factor, kFactor);
  json("low", factor.low, kFactor);
  json("high", factor.high, kFactor);
  json("deviation", factor.deviation, et_schema::kNotNegative);
  json("groups", factor.groups);
  json("calls", factor.calls);
}

static void check_record(const JsonField& field, OverlapFactor& read) {
  if (read.low > read.factor || read.factor > read.high) {
    field.at("factor").fail(fmt::format("a factor in its interval, {} to {}", read.low, read.high));
  }
}

void members(auto& json, SameAs<DeviceOverlap> auto& device) {
  json("device", device.device);
  json.unless(std::nullopt, "compute", device.compute);
  json.unless(std::nullopt, "communication", device.communication);
  json.unless(std::nullopt, "streams", device.streams);
  json("sources", device.sources);
}

static void check_record(const JsonField& field, DeviceOverlap& device) {
  if (!device.compute && !device.communication && !device.streams) {
    field.fail("a factor: compute, communication or streams", "none of them");
  }
}

std::string to_json(const std::vector<DeviceOverlap>& devices) {
  return et_schema::dump_lines({{"devices", et_schema::json_of(devices)}}, 0);
}

std::vector<DeviceOverlap> overlap_from_json(const JsonField& section) {
  std::vector<DeviceOverlap> devices;
  for (const JsonField& item : section.at("devices").items()) {
    auto device = et_schema::read_json<DeviceOverlap>(item);
    if (std::ranges::find(devices, device.device, &DeviceOverlap::device) != devices.end()) {
      item.at("device").fail("each device once", et_schema::quote(device.device) + " again");
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace understudy::predictor
