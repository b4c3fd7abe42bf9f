#pragma once

#include <memory>

#include "et_schema/support/json_record.h"
#include "predictor/operators/call_model.h"

namespace understudy::predictor {

inline constexpr et_schema::Names kCandidateNames{candidate_from_string,
                                                  "a kind of model that this version knows"};

[[nodiscard]] nlohmann::ordered_json json_value(const CallModel& model);
/// What was written. Throws Error (bad input). `shared`: what transferred models build on.
[[nodiscard]] std::unique_ptr<CallModel> read_model(
    const et_schema::JsonField& field, const std::shared_ptr<const SharedModel>& shared);

[[nodiscard]] nlohmann::ordered_json json_value(const TwoClock& base);
void read_value(const et_schema::JsonField& field, TwoClock& base);
[[nodiscard]] nlohmann::ordered_json json_value(const Trees& trees);
void read_value(const et_schema::JsonField& field, Trees& trees);
[[nodiscard]] nlohmann::ordered_json json_value(const OperatorCodes& codes);
void read_value(const et_schema::JsonField& field, OperatorCodes& codes);
void members(auto& json, et_schema::SameAs<SharedModel> auto& shared) {
  json("wide", shared.wide);
  json("narrow", shared.narrow);
  json("operators", shared.codes);
  json("trees", shared.trees);
}

}  // namespace understudy::predictor
