#include "predictor/platform/ceilings.h"

#include <algorithm>
#include <map>
#include <utility>

#include "et_schema/base/json_record.h"
#include "et_schema/base/map_values.h"
#include "predictor/calls/known_cards.h"
#include "predictor/operators/features.h"
#include "predictor/work/work.h"

namespace understudy::predictor {

nlohmann::ordered_json to_json(const std::vector<Ceiling>& ceilings) {
  return et_schema::json_of(ceilings);
}

std::vector<Ceiling> ceilings_of(const Platform& platform, const DeviceKey& key) {
  std::vector<Ceiling> ceilings =
      section_of(platform, kCeilingsSection, et_schema::read_json<std::vector<Ceiling>>)
          .value_or(std::vector<Ceiling>());
  const Card* const described = platform.operators.find_card(key.device);
  const Card* const card = described != nullptr ? described : find_known_card(key.device);
  if (ceilings.empty() && card != nullptr) {
    ceilings = {{card->name, 0, true, "DRAM", card->bandwidth_bytes_per_s},
                {card->name, 0, false, "float32", card->flops}};
    for (const auto& [dtype, flops] : card->flops_by_dtype) {
      ceilings.push_back({card->name, 0, false, std::string(to_string(dtype)), flops});
    }
  }
  return ceilings_of(ceilings, key);
}

std::vector<Ceiling> ceilings_of(const std::vector<Ceiling>& known, const DeviceKey& key) {
  std::map<std::string, Ceiling> fastest;
  for (const Ceiling& one : known) {
    // `calibrate` knows a card by its place only.
    const bool is_of_device = !one.is_sustained && (one.device == "cpu") == (key.device == "cpu") &&
                              (key.threads == 0 || one.threads <= key.threads);
    if (is_of_device) {
      Ceiling& best = fastest[one.name];
      best = one.per_s > best.per_s ? one : best;
    }
  }
  return et_schema::largest_first(std::move(fastest), &Ceiling::per_s);
}

std::vector<Ceiling> sustained_ceilings(const std::vector<MeasuredCall>& rows) {
  constexpr double kNsInS = 1e9;
  std::map<std::string, Ceiling> fastest;
  for (const MeasuredCall& row : rows) {
    const Work work = work_of(row.call);
    if (row.on_device && work.family == Family::kMatmul && row.on_device->median_ns > 0) {
      const std::string type(to_string(compute_dtype(row.call)));
      Ceiling& best = fastest[type];
      best = {"cuda",
              0,
              false,
              type,
              std::max(best.per_s, work.flops / row.on_device->median_ns * kNsInS),
              true};
    }
  }
  return et_schema::largest_first(std::move(fastest), &Ceiling::per_s);
}

}  // namespace understudy::predictor
