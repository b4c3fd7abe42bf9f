#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "models.h"
#include "predictor/fitting/errors_json.h"
#include "predictor/operators/operator_models_json.h"

namespace understudy::predictor {

using et_schema::json_of;
using et_schema::JsonField;
using et_schema::kFinite;
using et_schema::read_json;
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

static ordered_json json_value(const Trend& trend) {
  return {trend.slope, trend.knee};
}

static void read_value(const JsonField& field, Trend& trend) {
  const auto values = read_json<std::vector<double>>(field, kFinite);
  if (values.size() != 2) {
    field.fail("slope and knee");
  }
  trend = {values[0], values[1]};
}

static ordered_json json_value(const Neighbour& neighbour) {
  ordered_json json = json_of(neighbour.at);
  json.push_back(json_of(neighbour.residual));
  return json;
}

static void read_value(const JsonField& field, Neighbour& neighbour) {
  const auto values = read_json<std::vector<float>>(field, kFloat);
  if (values.size() != kSizes + 2) {
    field.fail(fmt::format("{} numbers", kSizes + 2));
  }
  std::copy_n(values.begin(), neighbour.at.size(), neighbour.at.begin());
  neighbour.residual = values.back();
}

void members(auto& json, et_schema::SameAs<SharedModel> auto& shared) {
  json("wide", shared.wide);
  json("narrow", shared.narrow);
  json("operators", shared.codes, kFloat);
  json("trees", shared.trees);
}

void members(auto& json, et_schema::SameAs<CallModel> auto& model) {
  json("model", model.kind, kCandidateNames);
  if (model.kind == Candidate::kMean) {
    json("of", model.of);
    return;
  }
  json("base", model.base);
  if (model.kind == Candidate::kNearest) {
    json("entries", model.neighbours);
  }
  if (model.kind == Candidate::kTrees) {
    json.unless(Trend(), "trend", model.trend);
  }
  if (is_transferred(model.kind)) {
    json("trust", model.trust, kFinite);
  }
  if (model.kind == Candidate::kTrees || is_transferred(model.kind)) {
    json("operators", model.codes, kFloat);
    json("trees", model.trees);
  }
}

static void check_record(const JsonField& field, CallModel& model) {
  if (model.kind != Candidate::kMean) {
    return;
  }
  const bool is_nested = std::ranges::any_of(
      model.of, [](const CallModel& one) { return one.kind == Candidate::kMean; });
  if (is_nested || model.of.size() != 2) {
    field.at("of").fail("two models that are no means themselves", std::to_string(model.of.size()));
  }
}

/// `shared`: what transferred models build on.
static CallModel read_model(const JsonField& field,
                            const std::shared_ptr<const SharedModel>& shared) {
  auto model = read_json<CallModel>(field);
  const auto build_on = [&shared](const JsonField& of, CallModel& one) {
    if (is_transferred(one.kind) && !shared) {
      of.at("model").fail("a model shared by several cards that it builds on", "none");
    }
    one.shared = is_transferred(one.kind) ? shared : nullptr;
  };
  build_on(field, model);
  for (std::size_t i = 0; i < model.of.size(); ++i) {
    build_on(field.at("of").items()[i], model.of[i]);
  }
  return model;
}

using et_schema::JsonReader;
using et_schema::JsonWriter;
using et_schema::kNotNegative;
using et_schema::SameAs;
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
  json("fit", fitted.model);
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
