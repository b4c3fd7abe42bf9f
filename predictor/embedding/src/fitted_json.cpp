#include "predictor/embedding/fitted_json.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "et_schema/support/json_fields.h"

namespace understudy::predictor {
namespace {

using et_schema::JsonField;
using nlohmann::ordered_json;

constexpr std::array<const char*, kEmbeddingTerms> kTermNames = {
    "call", "table", "bag", "lookup", "looked_up_byte", "miss", "missed_byte"};

ordered_json fit_json(const EmbeddingFit& fit) {
  ordered_json json = {{"ns", ordered_json::object()},
                       {"cache_bytes", fit.cache_bytes},
                       {"width", fit.width},
                       {"left_out",
                        {{"n", fit.left_out.n},
                         {"geometric", fit.left_out.geometric},
                         {"mean", fit.left_out.mean},
                         {"max", fit.left_out.worst},
                         {"bias", fit.left_out.bias}}}};
  for (std::size_t i = 0; i < kEmbeddingTerms; ++i) {
    json["ns"][kTermNames[i]] = fit.ns[i];
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

EmbeddingFit read_fit(const JsonField& field) {
  EmbeddingFit fit;
  const JsonField ns = field.at("ns");
  double sum = 0;
  for (std::size_t i = 0; i < kEmbeddingTerms; ++i) {
    fit.ns[i] = non_negative(ns.at(kTermNames[i]));
    sum += fit.ns[i];
  }
  if (!(sum > 0)) {
    ns.fail("a coefficient above 0", "none");
  }
  fit.cache_bytes = non_negative(field.at("cache_bytes"));
  fit.width = non_negative(field.at("width"));
  const JsonField errors = field.at("left_out");
  const JsonField bias = errors.at("bias");
  fit.left_out = {static_cast<std::size_t>(errors.at("n").as_uint()),
                  non_negative(errors.at("mean")), non_negative(errors.at("geometric")),
                  non_negative(errors.at("max")), bias.as_double()};
  return fit;
}

CacheModel read_cache(const JsonField& field) {
  for (const CacheModel model :
       {CacheModel::kWholeTable, CacheModel::kUniform, CacheModel::kReuse}) {
    if (field.as_text() == to_string(model)) {
      return model;
    }
  }
  field.fail("whole_table, uniform or reuse");
}

}  // namespace

std::string to_json(const EmbeddingModel& model) {
  return ordered_json{{"cache", to_string(model.cache)},
                      {"forward", fit_json(model.forward)},
                      {"backward", fit_json(model.backward)},
                      {"most_load_ns", model.most_load_ns}}
      .dump();
}

EmbeddingModel embedding_from_json(const JsonField& section) {
  return {read_cache(section.at("cache")), read_fit(section.at("forward")),
          read_fit(section.at("backward")), non_negative(section.at("most_load_ns"))};
}

}  // namespace understudy::predictor
