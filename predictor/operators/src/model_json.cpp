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
using et_schema::kNotNegative;
using et_schema::read_json;
using et_schema::SameAs;
using nlohmann::ordered_json;
using SharedModelPtr = std::shared_ptr<const SharedModel>;

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
  const auto values = read_json<std::array<float, kSizes + 2>>(field, kFloat);
  std::copy_n(values.begin(), neighbour.at.size(), neighbour.at.begin());
  neighbour.residual = values.back();
}

void members(auto& json, SameAs<SharedModel> auto& shared) {
  json("wide", shared.wide);
  json("narrow", shared.narrow);
  json("operators", shared.codes, kFloat);
  json("trees", shared.trees);
}

static ordered_json json_value(const SharedModelPtr& shared) {
  return json_of(*shared);
}

static void read_value(const JsonField& field, SharedModelPtr& shared) {
  shared = std::make_shared<SharedModel>(read_json<SharedModel>(field));
}

void members(auto& json, SameAs<CallModel> auto& model) {
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

/// Sets the shared model of transferred models.
static void set_shared(const JsonField& field, const SharedModelPtr& shared, CallModel& model) {
  if (is_transferred(model.kind) && !shared) {
    field.at("model").fail("a model shared by several cards that it builds on", "none");
  }
  model.shared = is_transferred(model.kind) ? shared : nullptr;
  for (std::size_t i = 0; i < model.of.size(); ++i) {
    set_shared(field.at("of").items()[i], shared, model.of[i]);
  }
}

void members(auto& json, SameAs<Range> auto& range) {
  json("low", range.low);
  json("high", range.high);
}

void members(auto& json, SameAs<CandidateErrors> auto& candidate) {
  json("model", candidate.candidate, kCandidateNames);
  json("errors", candidate.errors);
}

/// FittedModel's shared model is not set by reading; see set_shared().
void members(auto& json, SameAs<FittedModel> auto& fitted) {
  constexpr et_schema::NumberRange kShare = {"a share above 0, of at most 1",
                                             [](double share) { return share > 0 && share <= 1; }};
  json("rows", fitted.rows);
  json("operators", fitted.operators);
  json("candidates", fitted.candidates);
  json("width", fitted.width, kNotNegative);
  json("width_beyond", fitted.width_beyond, kNotNegative);
  json.unless(1.0, "least_share", fitted.least_share, kShare);
  json("range", fitted.range);
  json("fit", fitted.model);
  json.unless(std::nullopt, "fit_beyond", fitted.beyond);
}

static void check_record(const JsonField& field, FittedModel& fitted) {
  if (fitted.candidates.empty()) {
    field.at("candidates").fail("the chosen model's errors first");
  }
}

void members(auto& json, SameAs<SharedFit> auto& fit) {
  json("cards", fit.cards);
  json("operators", fit.operators);
  json("errors", fit.errors);
  json("width", fit.width, kNotNegative);
  json("narrow_width", fit.narrow_width, kNotNegative);
  json("range", fit.range);
  json("model", fit.model);
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
  for (const auto& [group, into] :
       {std::pair("operators", &device.by_operator), std::pair("families", &device.by_family)}) {
    for (const auto& [name, value] : field.at(group).members()) {
      const auto shared = models.shared().find(shared_key(key.timed, name));
      const SharedModelPtr base = shared == models.shared().end() ? nullptr : shared->second.model;
      auto fitted = read_json<FittedModel>(value);
      set_shared(value.at("fit"), base, fitted.model);
      if (fitted.beyond) {
        set_shared(value.at("fit_beyond"), base, *fitted.beyond);
      }
      into->emplace(name, std::move(fitted));
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
  for (const auto& [name, fit] : field.at("shared").members()) {
    models.add(name, read_json<SharedFit>(fit));
  }
  for (const JsonField& item : field.at("devices").items()) {
    add_device(item, models);
  }
}

}  // namespace understudy::predictor
