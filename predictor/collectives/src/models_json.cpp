#include "predictor/collectives/models_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "et_schema/model/comm_traits.h"
#include "et_schema/support/json_fields.h"

namespace understudy::predictor {
namespace {

using et_schema::JsonField;
using nlohmann::ordered_json;

ordered_json errors_json(const Errors& errors) {
  return {{"n", errors.n},
          {"geometric", errors.geometric},
          {"mean", errors.mean},
          {"max", errors.worst},
          {"bias", errors.bias}};
}

ordered_json sigmoid_json(const BandwidthSigmoid& sigmoid) {
  return {{"start_log2", sigmoid.start_log2},
          {"saturation_log2", sigmoid.saturation_log2},
          {"max_gb_per_s", sigmoid.max_gb_per_s},
          {"overhead_us", sigmoid.overhead_us},
          {"l", sigmoid.l},
          {"x0", sigmoid.x0},
          {"k", sigmoid.k},
          {"b", sigmoid.b}};
}

ordered_json curve_json(const SizeCurve& curve) {
  ordered_json json = {{"ranks", curve.ranks},
                       {"ln_bytes", curve.ln_bytes},
                       {"efficiency", curve.efficiency},
                       {"spread", curve.spread},
                       {"sigmoid", nullptr}};
  if (curve.sigmoid) {
    json["sigmoid"] = sigmoid_json(*curve.sigmoid);
  }
  return json;
}

ordered_json series_json(const Series& series) {
  ordered_json json = {{"kind", et_schema::to_string(series.key.kind)},
                       {"on_device", series.key.on_device},
                       {"nodes", series.key.nodes},
                       {"dtype", et_schema::to_string(series.key.dtype)},
                       {"alpha_ns", series.alpha_ns},
                       {"beta_ns_per_byte", series.beta_ns_per_byte},
                       {"size_step", series.size_step},
                       {"end_step", series.end_step},
                       {"rank_step", series.rank_step},
                       {"sigmoid_beyond", series.sigmoid_beyond},
                       {"left_out", errors_json(series.left_out)},
                       {"curves", ordered_json::array()}};
  for (const SizeCurve& curve : series.curves) {
    json["curves"].push_back(curve_json(curve));
  }
  return json;
}

ordered_json platform_json(const CollectiveModels::Platform& platform) {
  ordered_json json = {{"on_device", platform.on_device},
                       {"alpha_ns", platform.common.alpha_ns},
                       {"beta_ns_per_byte", platform.common.beta_ns_per_byte},
                       {"gamma_ns_per_byte", platform.common.gamma_ns_per_byte},
                       {"between_nodes", nullptr}};
  if (const auto& network = platform.between_nodes) {
    json["between_nodes"] = {{"step_ns", network->step_ns},
                             {"ns_per_byte", network->ns_per_byte},
                             {"width", network->width}};
  }
  return json;
}

double non_negative(const JsonField& field) {
  const double value = field.as_double();
  if (!(value >= 0) || !std::isfinite(value)) {
    field.fail("a number of 0 or more");
  }
  return value;
}

double finite(const JsonField& field) {
  const double value = field.as_double();
  if (!std::isfinite(value)) {
    field.fail("a number");
  }
  return value;
}

double positive(const JsonField& field) {
  const double value = non_negative(field);
  if (!(value > 0)) {
    field.fail("a number above 0");
  }
  return value;
}

int at_least(const JsonField& field, int least) {
  const int value = field.as_int32();
  if (value < least) {
    field.fail(std::to_string(least) + " or more");
  }
  return value;
}

Errors read_errors(const JsonField& field) {
  return {static_cast<std::size_t>(field.at("n").as_uint()), non_negative(field.at("mean")),
          non_negative(field.at("geometric")), non_negative(field.at("max")),
          finite(field.at("bias"))};
}

BandwidthSigmoid read_sigmoid(const JsonField& field) {
  BandwidthSigmoid sigmoid;
  sigmoid.start_log2 = finite(field.at("start_log2"));
  sigmoid.saturation_log2 = finite(field.at("saturation_log2"));
  sigmoid.max_gb_per_s = positive(field.at("max_gb_per_s"));
  sigmoid.overhead_us = non_negative(field.at("overhead_us"));
  sigmoid.l = finite(field.at("l"));
  sigmoid.x0 = finite(field.at("x0"));
  sigmoid.k = finite(field.at("k"));
  sigmoid.b = finite(field.at("b"));
  sigmoid.adds_overhead = false;
  return sigmoid;
}

std::vector<double> read_numbers(const JsonField& field, double (*read)(const JsonField&)) {
  std::vector<double> numbers;
  for (const JsonField& item : field.items()) {
    numbers.push_back(read(item));
  }
  return numbers;
}

SizeCurve read_curve(const JsonField& field) {
  SizeCurve curve;
  curve.ranks = at_least(field.at("ranks"), 2);
  curve.ln_bytes = read_numbers(field.at("ln_bytes"), non_negative);
  curve.efficiency = read_numbers(field.at("efficiency"), positive);
  curve.spread = read_numbers(field.at("spread"), non_negative);
  const bool is_whole = !curve.ln_bytes.empty() &&
                        curve.efficiency.size() == curve.ln_bytes.size() &&
                        curve.spread.size() == curve.ln_bytes.size();
  if (!is_whole) {
    field.fail("lists of one length, of one size or more", "lists of other lengths");
  }
  for (std::size_t i = 1; i < curve.ln_bytes.size(); ++i) {
    if (!(curve.ln_bytes[i] > curve.ln_bytes[i - 1])) {
      field.at("ln_bytes").fail("sizes in ascending order");
    }
  }
  if (const JsonField sigmoid = field.at("sigmoid"); !sigmoid.is_null()) {
    curve.sigmoid = read_sigmoid(sigmoid);
  }
  return curve;
}

Series read_series(const JsonField& field) {
  Series series;
  const JsonField kind = field.at("kind");
  const auto known = et_schema::kind_of_recorded_name(kind.as_text());
  if (!known) {
    kind.fail("a kind of communication");
  }
  const JsonField dtype = field.at("dtype");
  const auto type = et_schema::dtype_from_string(dtype.as_text());
  if (!type) {
    dtype.fail("an element type");
  }
  series.key = {*known, field.at("on_device").as_bool(), at_least(field.at("nodes"), 1), *type};
  series.alpha_ns = non_negative(field.at("alpha_ns"));
  series.beta_ns_per_byte = non_negative(field.at("beta_ns_per_byte"));
  series.size_step = non_negative(field.at("size_step"));
  series.end_step = non_negative(field.at("end_step"));
  series.rank_step = non_negative(field.at("rank_step"));
  series.sigmoid_beyond = field.at("sigmoid_beyond").as_bool();
  series.left_out = read_errors(field.at("left_out"));
  const JsonField curves = field.at("curves");
  for (const JsonField& item : curves.items()) {
    series.curves.push_back(read_curve(item));
    const std::size_t n = series.curves.size();
    if (n > 1 && series.curves[n - 1].ranks <= series.curves[n - 2].ranks) {
      item.at("ranks").fail("more ranks than in the curve before");
    }
  }
  if (series.curves.empty()) {
    curves.fail("a curve or more", "none");
  }
  return series;
}

CollectiveModels::Platform read_platform(const JsonField& field) {
  CollectiveModels::Platform platform;
  platform.on_device = field.at("on_device").as_bool();
  platform.common = {non_negative(field.at("alpha_ns")), non_negative(field.at("beta_ns_per_byte")),
                     non_negative(field.at("gamma_ns_per_byte"))};
  if (const JsonField network = field.at("between_nodes"); !network.is_null()) {
    platform.between_nodes =
        NodeNetwork{non_negative(network.at("step_ns")), non_negative(network.at("ns_per_byte")),
                    non_negative(network.at("width"))};
  }
  return platform;
}

}  // namespace

std::string to_json(const CollectiveModels& models) {
  ordered_json json = {{"series", ordered_json::array()}, {"platforms", ordered_json::array()}};
  for (const Series& series : models.series) {
    json["series"].push_back(series_json(series));
  }
  for (const CollectiveModels::Platform& platform : models.platforms) {
    json["platforms"].push_back(platform_json(platform));
  }
  return json.dump();
}

CollectiveModels collectives_from_json(const JsonField& section) {
  CollectiveModels models;
  for (const JsonField& item : section.at("series").items()) {
    models.series.push_back(read_series(item));
  }
  const JsonField platforms = section.at("platforms");
  for (const JsonField& item : platforms.items()) {
    models.platforms.push_back(read_platform(item));
  }
  if (models.platforms.empty() && !models.series.empty()) {
    platforms.fail("a platform or more beside series", "none");
  }
  return models;
}

}  // namespace understudy::predictor
