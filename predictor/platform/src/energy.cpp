#include "predictor/platform/energy.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "et_schema/support/json_fields.h"
#include "et_schema/support/json_text.h"

namespace understudy::predictor {
namespace {

using et_schema::JsonField;

constexpr double kNsPerS = 1e9;

double energy_of(const MeasuredCall& call) {
  const auto found = call.counters.find(kEnergyCounter);
  return found == call.counters.end() ? 0 : found->second;
}

/// Nearly all of a device's calls draw more: energies over it are no times below the roofline's.
double low_power(std::vector<double> values) {
  constexpr std::size_t kPart = 20;
  const auto low = values.begin() + static_cast<std::ptrdiff_t>(values.size() / kPart);
  std::nth_element(values.begin(), low, values.end());
  return *low;
}

}  // namespace

std::optional<EnergyPrediction> EnergyModels::predict(const OperatorCall& call,
                                                      const DeviceKey& key) const {
  const auto power = watts.find(key);
  if (power == watts.end()) {
    return std::nullopt;
  }
  const Prediction time = operators.predict(call, key);
  if (!time.modelled) {
    return std::nullopt;
  }
  const double joules_per_ns = power->second / kNsPerS;
  return EnergyPrediction{time.ns * joules_per_ns, time.low_ns * joules_per_ns,
                          time.high_ns * joules_per_ns};
}

std::optional<EnergyModels> fit_energy(const std::vector<MeasuredCall>& calls,
                                       const std::vector<Card>& cards,
                                       const ModelsOptions& options) {
  std::map<DeviceKey, std::vector<double>> powers;
  std::vector<MeasuredCall> rows;
  for (const MeasuredCall& call : calls) {
    const double joules = energy_of(call);
    if (joules > 0 && call.median_ns > 0) {
      powers[key_of(call)].push_back(joules / call.median_ns * kNsPerS);
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
    row.median_ns = energy_of(row) / energy.watts.at(key_of(row)) * kNsPerS;
    row.spread_ns = 0;
  }
  energy.operators = fit_operator_models(rows, cards, options);
  return energy;
}

std::string to_json(const EnergyModels& energy) {
  std::string out = "{\"watts\":[";
  for (const auto& [key, watts] : energy.watts) {
    out += out.back() == '[' ? "{\"device\":" : ",{\"device\":";
    et_schema::append_json_string(out, key.device);
    out += ",\"threads\":";
    et_schema::append_json_uint(out, static_cast<std::uint64_t>(key.threads));
    out += ",\"timed\":";
    et_schema::append_json_string(out, std::string(to_string(key.timed)));
    out += ",\"watts\":";
    et_schema::append_json_double(out, watts);
    out += "}";
  }
  return out + "],\"operators\":" + to_json(energy.operators) + "}";
}

EnergyModels read_energy(const JsonField& field) {
  EnergyModels energy;
  for (const JsonField& row : field.at("watts").items()) {
    const JsonField timed = row.at("timed");
    const auto as = timed_as_from_string(timed.as_text());
    if (!as) {
      timed.fail("timed_call, device or host", timed.as_text());
    }
    const JsonField watts = row.at("watts");
    const double value = watts.as_double();
    if (!std::isfinite(value) || value <= 0) {
      watts.fail("watts, more than 0");
    }
    energy.watts[{row.at("device").as_text(), row.at("threads").as_int32(), *as}] = value;
  }
  energy.operators = read_operator_models(field.at("operators"));
  return energy;
}

}  // namespace understudy::predictor
