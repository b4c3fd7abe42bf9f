#include "predictor/platform/energy.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "et_schema/base/map_values.h"
#include "predictor/operators/operator_models_json.h"

namespace understudy::predictor {
namespace {

constexpr double kNsPerS = 1e9;

double energy_of(const MeasuredCall& call) {
  return et_schema::value_or(call.counters, kEnergyCounter, 0);
}

/// Returns a power that 19 of 20 calls exceed, so that the times energy / power stay above the
/// roofline's.
double low_power(std::vector<double> values) {
  constexpr std::size_t kPart = 20;
  const auto low = values.begin() + static_cast<std::ptrdiff_t>(values.size() / kPart);
  std::nth_element(values.begin(), low, values.end());
  return *low;
}

}  // namespace

std::optional<EnergyPrediction> EnergyModels::predict(const OperatorCall& call,
                                                      const DeviceKey& key,
                                                      const OperatorModels& times) const {
  // H200's energies of 12,000 products, 8,700 prefills and 7,400 decodes miss B200's by a factor of
  // 2.1 to 2.5 in nine of ten calls (docs/results/prediction.md, "Energy").
  constexpr double kOtherCardWidth = 0.9;
  const auto own = watts.find(key);
  const DeviceKey* const measured = own != watts.end() ? &own->first : nearest(call, key, times);
  if (measured == nullptr) {
    return std::nullopt;
  }
  const Prediction time = operators.predict(call, *measured);
  if (!time.modelled) {
    return std::nullopt;
  }
  const double joules_per_ns = watts.at(*measured) / kNsPerS;
  EnergyPrediction energy{time.ns * joules_per_ns, time.low_ns * joules_per_ns,
                          time.high_ns * joules_per_ns};
  if (own == watts.end()) {
    energy.joules *= std::sqrt(times.predict(call, key).ns / times.predict(call, *measured).ns);
    energy.low_joules = energy.joules * std::exp(-kOtherCardWidth);
    energy.high_joules = energy.joules * std::exp(kOtherCardWidth);
  }
  return energy;
}

const DeviceKey* EnergyModels::nearest(const OperatorCall& call, const DeviceKey& key,
                                       const OperatorModels& times) const {
  const Card* const there = times.find_card(key.device);
  const DeviceKey* found = nullptr;
  double least = 0;
  for (const auto& [measured, unused] : watts) {
    const Card* const here = times.find_card(measured.device);
    if (here == nullptr || there == nullptr || measured.timed != key.timed) {
      continue;
    }
    const double octaves = octaves_between(*here, *there, compute_dtype(call));
    if (found == nullptr || octaves < least) {
      found = &measured;
      least = octaves;
    }
  }
  return found;
}

std::optional<EnergyModels> fit_energy(const std::vector<MeasuredCall>& calls,
                                       const std::vector<Card>& cards,
                                       const ModelsOptions& options) {
  std::map<DeviceKey, std::vector<double>> powers;
  std::vector<MeasuredCall> rows;
  for (const MeasuredCall& call : calls) {
    const double joules = energy_of(call);
    if (joules > 0) {
      powers[key_of(call)].push_back(joules / call.time().median_ns * kNsPerS);
      rows.push_back(call);
    }
  }
  if (rows.empty()) {
    return std::nullopt;
  }
  EnergyModels energy;
  for (auto& [key, values] : powers) {
    energy.watts[key] = low_power(std::move(values));
  }
  for (MeasuredCall& row : rows) {
    const double ns = energy_of(row) / energy.watts.at(key_of(row)) * kNsPerS;
    row.set_time(row.timed(), {.median_ns = ns});
  }
  energy.operators = fit_operator_models(rows, cards, options);
  return energy;
}

namespace {

struct DeviceWatts {
  DeviceKey key;
  double watts = 0;
};

void members(auto& json, et_schema::SameAs<DeviceWatts> auto& row) {
  members(json, row.key);
  json("watts", row.watts, et_schema::kPositive);
}

}  // namespace

nlohmann::ordered_json json_value(const EnergyModels& energy) {
  std::vector<DeviceWatts> rows;
  for (const auto& [key, watts] : energy.watts) {
    rows.push_back({key, watts});
  }
  return {{"watts", et_schema::json_of(rows)}, {"operators", et_schema::json_of(energy.operators)}};
}

void read_value(const et_schema::JsonField& field, EnergyModels& energy) {
  for (const auto& row : et_schema::read_json<std::vector<DeviceWatts>>(field.at("watts"))) {
    energy.watts[row.key] = row.watts;
  }
  et_schema::read_json(field.at("operators"), energy.operators);
}

}  // namespace understudy::predictor
