#include "model_json.h"
#include "predictor/fitting/errors_json.h"
#include "predictor/operators/operator_models_json.h"

namespace understudy::predictor {

using et_schema::json_of;
using et_schema::JsonField;
using et_schema::JsonReader;
using et_schema::JsonWriter;
using et_schema::kNotNegative;
using et_schema::SameAs;
using nlohmann::ordered_json;
using SharedModelPtr = std::shared_ptr<const SharedModel>;

void members(auto& json, SameAs<Range> auto& range) {
  json("low", range.low);
  json("high", range.high);
}

void members(auto& json, SameAs<CandidateErrors> auto& candidate) {
  json("model", candidate.candidate, kCandidateNames);
  json("errors", candidate.errors);
}

/// All but its models, which are read with what they build on.
static void plain_members(auto& json, SameAs<FittedModel> auto& fitted) {
  constexpr et_schema::NumberRange kShare = {"a share above 0, of at most 1",
                                             [](double share) { return share > 0 && share <= 1; }};
  json("rows", fitted.rows);
  json("operators", fitted.operators);
  json("candidates", fitted.candidates);
  json("width", fitted.width, kNotNegative);
  json("width_beyond", fitted.width_beyond, kNotNegative);
  json.unless(1.0, "least_share", fitted.least_share, kShare);
  json("range", fitted.range);
}

static void plain_members(auto& json, SameAs<SharedFit> auto& fit) {
  json("cards", fit.cards);
  json("operators", fit.operators);
  json("errors", fit.errors);
  json("width", fit.width, kNotNegative);
  json("narrow_width", fit.narrow_width, kNotNegative);
  json("range", fit.range);
}

static ordered_json json_value(const FittedModel& fitted) {
  JsonWriter json;
  plain_members(json, fitted);
  json("fit", *fitted.model);
  if (fitted.beyond) {
    json("fit_beyond", *fitted.beyond);
  }
  return json.take();
}

static FittedModel read_fitted_model(const JsonField& field, const SharedModelPtr& shared) {
  FittedModel fitted;
  JsonReader json(field);
  plain_members(json, fitted);
  if (fitted.candidates.empty()) {
    field.at("candidates").fail("the chosen model's errors first");
  }
  fitted.model = read_model(field.at("fit"), shared);
  if (const auto beyond = field.find("fit_beyond")) {
    fitted.beyond = read_model(*beyond, shared);
  }
  return fitted;
}

static ordered_json json_value(const SharedFit& fit) {
  JsonWriter json;
  plain_members(json, fit);
  json("model", *fit.model);
  return json.take();
}

static void read_value(const JsonField& field, SharedFit& fit) {
  JsonReader json(field);
  plain_members(json, fit);
  fit.model = std::make_shared<SharedModel>(et_schema::read_json<SharedModel>(field.at("model")));
}

static void add_device(const JsonField& field, OperatorModels& models) {
  const auto key = et_schema::read_json<DeviceKey>(field);
  DeviceModels device;
  device.card = read_card(field.at("card"));
  for (const auto& [group, into] :
       {std::pair("operators", &device.by_operator), std::pair("families", &device.by_family)}) {
    for (const auto& [name, value] : field.at(group).members()) {
      const auto shared = models.shared().find(shared_key(key.timed, name));
      into->emplace(name,
                    read_fitted_model(
                        value, shared == models.shared().end() ? nullptr : shared->second.model));
    }
  }
  models.add(key, std::move(device));
}

ordered_json json_value(const OperatorModels& models) {
  ordered_json json = {{"cards", json_of(models.cards())},
                       {"shared", json_of(models.shared())},
                       {"devices", ordered_json::array()}};
  for (const auto& [key, device] : models.devices()) {
    ordered_json one = json_of(key);
    one["card"] = json_of(device.card);
    one["operators"] = json_of(device.by_operator);
    one["families"] = json_of(device.by_family);
    json["devices"].push_back(std::move(one));
  }
  return json;
}

void read_value(const JsonField& field, OperatorModels& models) {
  for (const JsonField& card : field.at("cards").items()) {
    models.add_card(read_card(card));
  }
  for (const auto& [name, fit] : field.at("shared").members()) {
    models.add(name, et_schema::read_json<SharedFit>(fit));
  }
  for (const JsonField& item : field.at("devices").items()) {
    add_device(item, models);
  }
}

}  // namespace understudy::predictor
