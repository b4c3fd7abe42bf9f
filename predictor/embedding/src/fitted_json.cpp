#include <array>

#include "predictor/embedding/fitted.h"
#include "predictor/fitting/errors_json.h"

namespace understudy::predictor {

using et_schema::JsonField;
using et_schema::kNotNegative;
using et_schema::SameAs;

static std::optional<CacheModel> cache_model_from_string(std::string_view name) {
  return et_schema::value_named(
      name, {CacheModel::kWholeTable, CacheModel::kUniform, CacheModel::kReuse});
}

void members(auto& json, SameAs<EmbeddingFit> auto& fit) {
  constexpr std::array<const char*, kEmbeddingTerms> kTerms = {
      "call", "table", "bag", "lookup", "looked_up_byte", "miss", "missed_byte"};
  json.object("ns", [&fit, &kTerms](auto& ns) {
    for (std::size_t i = 0; i < kTerms.size(); ++i) {
      ns(kTerms[i], fit.ns[i], kNotNegative);
    }
  });
  json("cache_bytes", fit.cache_bytes, kNotNegative);
  json("width", fit.width, kNotNegative);
  json("left_out", fit.left_out);
}

static void check_record(const JsonField& field, EmbeddingFit& fit) {
  if (fit.ns == EmbeddingTerms{}) {
    field.at("ns").fail("a coefficient above 0", "none");
  }
}

void members(auto& json, SameAs<EmbeddingModel> auto& model) {
  json("cache", model.cache,
       et_schema::Names{cache_model_from_string, "whole_table, uniform or reuse"});
  json("forward", model.forward);
  json("backward", model.backward);
  json("most_load_ns", model.most_load_ns, kNotNegative);
}

std::string to_json(const EmbeddingModel& model) {
  return et_schema::json_of(model).dump();
}

EmbeddingModel embedding_from_json(const JsonField& section) {
  return et_schema::read_json<EmbeddingModel>(section);
}

}  // namespace understudy::predictor
