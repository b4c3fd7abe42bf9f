#pragma once

#include "et_schema/base/json_record.h"
#include "predictor/operators/operator_models.h"

namespace understudy::predictor {

/// Writes and reads {"cards":[…],"shared":{…},"devices":[…]}. Reading throws Error (bad input).
[[nodiscard]] nlohmann::ordered_json json_value(const OperatorModels& models);
void read_value(const et_schema::JsonField& field, OperatorModels& models);

inline constexpr et_schema::Names kTimedAsNames{et_schema::timed_as_from_string,
                                                "timed_call, device or host"};

void members(auto& json, et_schema::SameAs<DeviceKey> auto& key) {
  json("device", key.device);
  json("threads", key.threads);
  json("timed", key.timed, kTimedAsNames);
}

}  // namespace understudy::predictor
