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

/// The counter that holds a call's energy, in joules.
inline constexpr const char* kEnergyCounter = "energy_j";

struct EnergyPrediction {
  double joules = 0;
  double low_joules = 0;  ///< 90 % interval
  double high_joules = 0;
};

/// Energy models of single operators. They reuse the models of time: each device's energies are
/// divided by a low power of the device, and the resulting times are fitted by the same models.
struct EnergyModels {
  OperatorModels operators;
  std::map<DeviceKey, double> watts;  ///< power by device: 19 of 20 rows draw more

  /// Returns null if no model covers the call. `times` predicts times on the same devices. If the
  /// device's energy was not measured, the nearest measured card answers: between its joules and
  /// its watts, the energy is theirs times the square root of the ratio of the times.
  [[nodiscard]] std::optional<EnergyPrediction> predict(const OperatorCall& call,
                                                        const DeviceKey& key,
                                                        const OperatorModels& times) const;

 private:
  [[nodiscard]] const DeviceKey* nearest(const OperatorCall& call, const DeviceKey& key,
                                         const OperatorModels& times) const;
};

/// Fits energy models. Skips rows with kEnergyCounter unset or 0. Returns null if all are skipped.
[[nodiscard]] std::optional<EnergyModels> fit_energy(const std::vector<MeasuredCall>& calls,
                                                     const std::vector<Card>& cards,
                                                     const ModelsOptions& options);

/// Writes and reads {"watts":[…],"operators":{…}}. Reading throws Error (bad input).
[[nodiscard]] nlohmann::ordered_json json_value(const EnergyModels& energy);
void read_value(const et_schema::JsonField& field, EnergyModels& energy);

}  // namespace understudy::predictor
