#include "et_schema/model/comm_traits.h"
#include "predictor/collectives/models.h"
#include "predictor/fitting/errors_json.h"

namespace understudy::predictor {

using et_schema::AtLeast;
using et_schema::JsonField;
using et_schema::kNotNegative;
using et_schema::kPositive;
using et_schema::SameAs;

void members(auto& json, SameAs<SizeCurve> auto& curve) {
  json("ranks", curve.ranks, AtLeast{2});
  json("ln_bytes", curve.ln_bytes, kNotNegative);
  json("efficiency", curve.efficiency, kPositive);
  json("spread", curve.spread, kNotNegative);
}

static void check_record(const JsonField& field, SizeCurve& curve) {
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
}

void members(auto& json, SameAs<Series> auto& series) {
  json("kind", series.key.kind,
       et_schema::Names{et_schema::kind_of_recorded_name, "a kind of communication"});
  json("on_device", series.key.on_device);
  json("nodes", series.key.nodes, AtLeast{1});
  json("dtype", series.key.dtype,
       et_schema::Names{et_schema::dtype_from_string, "an element type"});
  json("alpha_ns", series.alpha_ns, kNotNegative);
  json("beta_ns_per_byte", series.beta_ns_per_byte, kNotNegative);
  json("size_step", series.size_step, kNotNegative);
  json("end_step", series.end_step, kNotNegative);
  json("rank_step", series.rank_step, kNotNegative);
  json("left_out", series.left_out);
  json("curves", series.curves);
}

static void check_record(const JsonField& field, Series& series) {
  const JsonField curves = field.at("curves");
  for (std::size_t i = 1; i < series.curves.size(); ++i) {
    if (series.curves[i].ranks <= series.curves[i - 1].ranks) {
      curves.items()[i].at("ranks").fail("more ranks than in the curve before");
    }
  }
  if (series.curves.empty()) {
    curves.fail("a curve or more", "none");
  }
}

void members(auto& json, SameAs<NodeNetwork> auto& network) {
  json("step_ns", network.step_ns, kNotNegative);
  json("ns_per_byte", network.ns_per_byte, kNotNegative);
  json("width", network.width, kNotNegative);
}

void members(auto& json, SameAs<CollectiveModels::Platform> auto& platform) {
  json("on_device", platform.on_device);
  json("alpha_ns", platform.common.alpha_ns, kNotNegative);
  json("beta_ns_per_byte", platform.common.beta_ns_per_byte, kNotNegative);
  json("gamma_ns_per_byte", platform.common.gamma_ns_per_byte, kNotNegative);
  json("between_nodes", platform.between_nodes);
}

void members(auto& json, SameAs<CollectiveModels> auto& models) {
  json("series", models.series);
  json("platforms", models.platforms);
}

std::string to_json(const CollectiveModels& models) {
  return et_schema::json_of(models).dump();
}

CollectiveModels collectives_from_json(const JsonField& section) {
  auto models = et_schema::read_json<CollectiveModels>(section);
  if (models.platforms.empty() && !models.series.empty()) {
    section.at("platforms").fail("a platform or more beside series", "none");
  }
  return models;
}

}  // namespace understudy::predictor
