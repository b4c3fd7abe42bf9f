#include <fmt/format.h>

#include <cmath>
#include <map>
#include <stdexcept>

#include "predictor/fitting/errors_json.h"
#include "predictor/operators/operator_models_json.h"

namespace understudy::predictor {

using et_schema::json_of;
using et_schema::JsonField;
using et_schema::kFinite;
using et_schema::kNotNegative;
using et_schema::read_json;
using et_schema::SameAs;
using nlohmann::ordered_json;

static constexpr et_schema::Names kCandidateNames{candidate_from_string,
                                                  "a kind of model that this version knows"};
static constexpr et_schema::NumberRange kFloat = {
    "a number that a float can hold", [](double value) { return std::isfinite(value); }};

static ordered_json json_value(const TwoClock& base) {
  return {base.floor_ns, base.fixed_ns, base.compute_share, base.memory_share};
}

static void read_value(const JsonField& field, TwoClock& base) {
  const auto values = read_json<std::vector<double>>(field, kFinite);
  if (values.size() != 4) {
    field.fail("floor, fixed, compute share, memory share");
  }
  base = {values[0], values[1], values[2], values[3]};
  if (base.floor_ns < 0 || base.fixed_ns < 0 || base.compute_share <= 0 || base.memory_share <= 0) {
    field.fail("times of 0 or more and shares above 0");
  }
}

static ordered_json json_value(const Trees& trees) {
  std::vector<std::int16_t> features;
  std::vector<float> values;
  for (const Trees::Node& node : trees.nodes()) {
    features.push_back(node.feature);
    values.push_back(node.value);
  }
  return {{"features", features}, {"values", json_of(values)}};
}

static void read_value(const JsonField& field, Trees& trees) {
  std::vector<std::int16_t> features;
  for (const std::int64_t feature : field.at("features").as_ints()) {
    if (feature < Trees::kLeaf || feature >= static_cast<std::int64_t>(kFeatures)) {
      field.at("features").fail("numbers of features, -1 for a leaf", fmt::format("{}", feature));
    }
    features.push_back(static_cast<std::int16_t>(feature));
  }
  try {
    trees = Trees(features, read_json<std::vector<float>>(field.at("values"), kFloat), kFeatures);
  } catch (const std::invalid_argument& error) {
    field.fail("trees, each node before its two subtrees", error.what());
  }
}

void members(auto& json, SameAs<CallModel> auto& model) {
  json("model", model.kind, kCandidateNames);
  if (model.kind == Candidate::kOtherCards) {
    json("correction", model.correction, kFinite);
    return;
  }
  json("base", model.base);
  if (model.kind == Candidate::kTrees) {
    json("operators", model.codes, kFloat);
    json("trees", model.trees);
  }
}

void members(auto& json, SameAs<Range> auto& range) {
  json("low", range.low);
  json("high", range.high);
}

void members(auto& json, SameAs<FittedModel> auto& fitted) {
  constexpr et_schema::NumberRange kShare = {"a share above 0, of at most 1",
                                             [](double share) { return share > 0 && share <= 1; }};
  json("rows", fitted.rows);
  json("operators", fitted.operators);
  json("errors", fitted.errors);
  json("width", fitted.width, kNotNegative);
  json("width_beyond", fitted.width_beyond, kNotNegative);
  json.unless(1.0, "least_share", fitted.least_share, kShare);
  json("range", fitted.range);
  json("fit", fitted.model);
}

void members(auto& json, SameAs<CountedShare> auto& share) {
  json("flops", share.flops, et_schema::kPositive);
  json("bytes", share.bytes, et_schema::kPositive);
}

static void add_device(const JsonField& field, OperatorModels& models) {
  const auto key = read_json<DeviceKey>(field);
  DeviceModels device;
  read_json(field.at("card"), device.card);
  if (const auto counted = field.find("counted")) {
    read_json(*counted, device.counted);
  }
  read_json(field.at("operators"), device.by_operator);
  read_json(field.at("families"), device.by_family);
  models.add(key, std::move(device));
}

ordered_json json_value(const OperatorModels& models) {
  ordered_json json = {{"cards", json_of(models.cards())},
                       {"spreads", json_of(models.spreads())},
                       {"devices", ordered_json::array()}};
  for (const auto& [key, device] : models.devices()) {
    ordered_json one = json_of(key);
    one["card"] = json_of(device.card);
    if (!device.counted.empty()) {
      one["counted"] = json_of(device.counted);
    }
    one["operators"] = json_of(device.by_operator);
    one["families"] = json_of(device.by_family);
    json["devices"].push_back(std::move(one));
  }
  return json;
}

void read_value(const JsonField& field, OperatorModels& models) {
  for (Card& card : read_json<std::vector<Card>>(field.at("cards"))) {
    models.add_card(std::move(card));
  }
  for (const auto& [group, spread] :
       read_json<std::map<std::string, double>>(field.at("spreads"))) {
    models.add(group, spread);
  }
  for (const JsonField& item : field.at("devices").items()) {
    add_device(item, models);
  }
}

}  // namespace understudy::predictor
