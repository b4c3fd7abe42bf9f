#include <algorithm>

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
  json("latency_ns", curve.base.latency_ns, kPositive);
  json("ns_per_byte", curve.base.ns_per_byte, kPositive);
  json("ramp_ns", curve.base.ramp_ns, kNotNegative);
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
  if (std::ranges::adjacent_find(curve.ln_bytes, std::ranges::greater_equal{}) !=
      curve.ln_bytes.end()) {
    field.at("ln_bytes").fail("sizes in ascending order");
  }
}

void members(auto& json, SameAs<ErrorSteps> auto& steps) {
  json("between", steps.between, kNotNegative);
  json("beyond", steps.beyond, kNotNegative);
}

void members(auto& json, SameAs<Growth> auto& growth) {
  json("call_ns", growth.call_ns, kPositive);
  json("step_ns", growth.step_ns, kNotNegative);
  json("tree_step", growth.tree_step, kPositive);
}

void members(auto& json, SameAs<Series> auto& series) {
  json("kind", series.key.kind,
       et_schema::Names{et_schema::kind_of_recorded_name, "a kind of communication"});
  json("on_device", series.key.on_device);
  json("ranks_per_node", series.key.ranks_per_node, AtLeast{0});
  json("dtype", series.key.dtype,
       et_schema::Names{et_schema::dtype_from_string, "an element type"});
  json("device", series.key.device);
  json("network", series.key.network);
  json("sizes", series.sizes);
  json("ranks", series.ranks);
  json("left_out", series.left_out);
  json("growth", series.growth);
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

void members(auto& json, SameAs<CollectiveModels> auto& models) {
  json("series", models.series);
}

std::string to_json(const CollectiveModels& models) {
  return et_schema::json_of(models).dump();
}

CollectiveModels collectives_from_json(const JsonField& section) {
  return et_schema::read_json<CollectiveModels>(section);
}

}  // namespace understudy::predictor
