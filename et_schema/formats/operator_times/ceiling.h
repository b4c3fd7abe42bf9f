#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "et_schema/base/json_fields.h"

namespace understudy::et_schema {

/// A rate that operators hardly exceed: of a level of memory, or of arithmetic on an element type.
struct Ceiling {
  std::string device;  ///< "cpu", or a card
  int threads = 0;     ///< of an operator on a host; 0 on a card
  bool is_bandwidth = false;
  std::string name;           ///< "L1", "L2", "L3", "DRAM"; "float32"
  double per_s = 0;           ///< bytes, or floating-point operations
  bool is_sustained = false;  ///< in calls back to back for seconds; otherwise in bursts
  bool operator==(const Ceiling&) const = default;
};

[[nodiscard]] nlohmann::ordered_json json_value(const Ceiling& ceiling);
void read_value(const JsonField& field, Ceiling& ceiling);

}  // namespace understudy::et_schema
