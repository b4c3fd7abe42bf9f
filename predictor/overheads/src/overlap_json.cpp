#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "et_schema/support/json_record.h"
#include "et_schema/support/quote.h"
#include "predictor/overheads/overlap.h"

namespace understudy::predictor {

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
