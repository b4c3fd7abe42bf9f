#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "predictor/operators/operator_models.h"

namespace understudy::et_schema {
class JsonField;
}

namespace understudy::predictor {

/// The counter that tells a call's energy, in joules.
inline constexpr const char* kEnergyCounter = "energy_j";

struct EnergyPrediction {
  double joules = 0;
  double low_joules = 0;  ///< 90 % interval
  double high_joules = 0;
};

/// Energy of single operators, modelled as their time is: each device's energies over a low
/// power of it are times, which the same candidates are fitted to.
struct EnergyModels {
  OperatorModels operators;
  std::map<DeviceKey, double> watts;  ///< of 19 in 20 of a device's rows energy over time is more

  /// Null for a device whose energy was not measured, and for what has no model there.
  [[nodiscard]] std::optional<EnergyPrediction> predict(const OperatorCall& call,
                                                        const DeviceKey& key) const;
};

/// Null where no row has kEnergyCounter; rows without it, or with 0, are passed over.
[[nodiscard]] std::optional<EnergyModels> fit_energy(const std::vector<MeasuredCall>& calls,
                                                     const std::vector<Card>& cards,
                                                     const ModelsOptions& options);

/// {"watts":[…],"operators":{…}} (json_record.h). Reading throws Error (bad input).
[[nodiscard]] nlohmann::ordered_json json_value(const EnergyModels& energy);
void read_value(const et_schema::JsonField& field, EnergyModels& energy);

}  // namespace understudy::predictor
