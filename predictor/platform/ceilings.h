#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "predictor/platform/platform.h"

namespace understudy::predictor {

inline constexpr const char* kCeilingsSection = "ceilings";

/// A rate that operators hardly exceed: of a level of memory, or of arithmetic on an element type.
struct Ceiling {
  std::string device;  ///< "cpu", or a card
  int threads = 0;     ///< of an operator on a host; 0 on a card
  bool is_bandwidth = false;
  std::string name;  ///< "L1", "L2", "L3", "DRAM"; "float32"
  double per_s = 0;  ///< bytes, or floating-point operations
};

/// Returns the section "ceilings".
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<Ceiling>& ceilings);

/// Returns a device's ceilings, the highest first: what `calibrate` measured there with up to
/// `key.threads` threads, or without a measurement the peaks of the card's data sheet. Returns
/// nothing for an unknown device. Throws Error (bad input) if the section is damaged.
[[nodiscard]] std::vector<Ceiling> ceilings_of(const Platform& platform, const DeviceKey& key);

}  // namespace understudy::predictor
