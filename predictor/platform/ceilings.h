#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "et_schema/formats/operator_times/ceiling.h"
#include "predictor/platform/platform.h"

namespace understudy::predictor {

inline constexpr const char* kCeilingsSection = "ceilings";

using et_schema::Ceiling;

/// Returns the section "ceilings".
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<Ceiling>& ceilings);

/// Returns a device's ceilings, the highest first: what `calibrate` measured there with up to
/// `key.threads` threads, or without a measurement the peaks of the card's data sheet. Returns
/// nothing for an unknown device. Throws Error (bad input) if the section is damaged.
[[nodiscard]] std::vector<Ceiling> ceilings_of(const Platform& platform, const DeviceKey& key);
/// The same of ceilings that are known: those of bursts.
[[nodiscard]] std::vector<Ceiling> ceilings_of(const std::vector<Ceiling>& known,
                                               const DeviceKey& key);
/// Returns for each element type the highest rate that a product of these rows sustained on a card.
[[nodiscard]] std::vector<Ceiling> sustained_ceilings(const std::vector<MeasuredCall>& rows);

}  // namespace understudy::predictor
