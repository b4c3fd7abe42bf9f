#include "predictor/overlap/overlap_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "et_schema/support/json_fields.h"
#include "et_schema/support/quote.h"

namespace understudy::predictor {
namespace {

using et_schema::JsonField;
using nlohmann::ordered_json;

ordered_json factor_json(const OverlapFactor& factor) {
  return {{"factor", factor.factor},       {"low", factor.low},       {"high", factor.high},
          {"deviation", factor.deviation}, {"groups", factor.groups}, {"calls", factor.calls}};
}

double bounded_factor(const JsonField& field) {
  const double factor = field.as_double();
  if (!(factor >= 1 && factor <= kMostOverlapFactor)) {
    field.fail(fmt::format("a factor from 1 to {}", kMostOverlapFactor), fmt::format("{}", factor));
  }
  return factor;
}

OverlapFactor read_factor(const JsonField& field) {
  OverlapFactor read;
  read.factor = bounded_factor(field.at("factor"));
  read.low = bounded_factor(field.at("low"));
  read.high = bounded_factor(field.at("high"));
  if (read.low > read.factor || read.factor > read.high) {
    field.at("factor").fail(fmt::format("a factor in its interval, {} to {}", read.low, read.high),
                            fmt::format("{}", read.factor));
  }
  read.deviation = field.at("deviation").as_double();
  if (!(read.deviation >= 0) || std::isinf(read.deviation)) {
    field.at("deviation").fail("0 or more", fmt::format("{}", read.deviation));
  }
  read.groups = field.at("groups").as_uint();
  read.calls = field.at("calls").as_uint();
  return read;
}

std::optional<OverlapFactor> find_factor(const JsonField& device, const char* name) {
  const std::optional<JsonField> field = device.find(name);
  return field ? std::optional(read_factor(*field)) : std::nullopt;
}

}  // namespace

std::string to_json(const std::vector<DeviceOverlap>& devices) {
  ordered_json json = {{"devices", ordered_json::array()}};
  for (const DeviceOverlap& device : devices) {
    ordered_json one = {{"device", device.device}};
    for (const auto& [name, factor] :
         {std::pair("compute", &device.compute), std::pair("communication", &device.communication),
          std::pair("streams", &device.streams)}) {
      if (*factor) {
        one[name] = factor_json(**factor);
      }
    }
    one["sources"] = device.sources;
    json["devices"].push_back(std::move(one));
  }
  // Names of files may not be UTF-8.
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::vector<DeviceOverlap> overlap_from_json(const JsonField& section) {
  std::vector<DeviceOverlap> devices;
  for (const JsonField& item : section.at("devices").items()) {
    DeviceOverlap device;
    device.device = item.at("device").as_text();
    if (std::ranges::find(devices, device.device, &DeviceOverlap::device) != devices.end()) {
      item.at("device").fail("each device once", et_schema::quote(device.device) + " again");
    }
    device.compute = find_factor(item, "compute");
    device.communication = find_factor(item, "communication");
    device.streams = find_factor(item, "streams");
    if (!device.compute && !device.communication && !device.streams) {
      item.fail("a factor: compute, communication or streams", "none of them");
    }
    device.sources = item.at("sources").as_texts();
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace understudy::predictor
