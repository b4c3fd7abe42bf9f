#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "et_schema/support/json_fields.h"
#include "et_schema/support/json_text.h"
#include "models.h"

namespace understudy::predictor {
namespace {

using et_schema::JsonField;

void append_number(std::string& out, double value) {
  out += fmt::format("{}", value);
}
/// The shortest text that reads back as the same float; of -0, which reads back as a whole number,
/// 0.
void append_number(std::string& out, float value) {
  out += fmt::format("{}", value + 0.0F);
}

void append_base(std::string& out, const TwoClock& base) {
  out += "[";
  append_number(out, base.floor_ns);
  for (const double value : {base.fixed_ns, base.compute_share, base.memory_share}) {
    out += ",";
    append_number(out, value);
  }
  out += "]";
}

template <typename Values>
void append_floats(std::string& out, const Values& values) {
  out += "[";
  for (const auto value : values) {
    out += out.back() == '[' ? "" : ",";
    append_number(out, value);
  }
  out += "]";
}

void append_trees(std::string& out, const Trees& trees) {
  out += "{\"features\":[";
  for (const Trees::Node& node : trees.nodes()) {
    out += out.back() == '[' ? "" : ",";
    et_schema::append_json_int(out, node.feature);
  }
  std::vector<float> values;
  for (const Trees::Node& node : trees.nodes()) {
    values.push_back(node.value);
  }
  out += "],\"values\":";
  append_floats(out, values);
  out += "}";
}

void append_codes(std::string& out, const OperatorCodes& codes) {
  out += "{";
  for (const auto& [op, code] : codes.all()) {
    out += out.back() == '{' ? "" : ",";
    et_schema::append_json_string(out, op);
    out += ":";
    append_number(out, code);
  }
  out += "}";
}

void begin(std::string& out, Candidate kind) {
  out += "{\"model\":";
  et_schema::append_json_string(out, to_string(kind));
}

double finite(const JsonField& field) {
  const double value = field.as_double();
  if (!std::isfinite(value)) {
    field.fail("a finite number");
  }
  return value;
}

std::vector<float> read_floats(const JsonField& field) {
  std::vector<float> values;
  for (const JsonField& item : field.items()) {
    const auto value = static_cast<float>(finite(item));
    if (!std::isfinite(value)) {
      item.fail("a number that a float can hold");
    }
    values.push_back(value);
  }
  return values;
}

TwoClock read_base(const JsonField& field) {
  const std::vector<JsonField> items = field.items();
  if (items.size() != 4) {
    field.fail("floor, fixed, compute share, memory share");
  }
  TwoClock base{finite(items[0]), finite(items[1]), finite(items[2]), finite(items[3])};
  if (base.floor_ns < 0 || base.fixed_ns < 0 || base.compute_share <= 0 || base.memory_share <= 0) {
    field.fail("times of 0 or more and shares above 0");
  }
  return base;
}

Trees read_trees(const JsonField& field) {
  std::vector<std::int16_t> features;
  for (const std::int64_t feature : field.at("features").as_ints()) {
    if (feature < Trees::kLeaf || feature >= static_cast<std::int64_t>(kFeatures)) {
      field.at("features").fail("numbers of features, -1 for a leaf", fmt::format("{}", feature));
    }
    features.push_back(static_cast<std::int16_t>(feature));
  }
  try {
    return Trees(features, read_floats(field.at("values")), kFeatures);
  } catch (const std::invalid_argument& error) {
    field.fail("trees, each node before its two subtrees", error.what());
  }
}

Trend read_trend(const JsonField& model) {
  const auto field = model.find("trend");
  if (!field) {
    return {};
  }
  const std::vector<JsonField> items = field->items();
  if (items.size() != 2) {
    field->fail("slope and knee");
  }
  return {finite(items[0]), finite(items[1])};
}

OperatorCodes read_codes(const JsonField& field) {
  OperatorCodes codes;
  for (const auto& [op, code] : field.members()) {
    codes.add(op, static_cast<float>(finite(code)));
  }
  return codes;
}

std::unique_ptr<CallModel> read_nearest(const JsonField& field) {
  std::vector<NearestModel::Entry> entries;
  for (const JsonField& item : field.at("entries").items()) {
    const std::vector<float> values = read_floats(item);
    if (values.size() != kSizes + 2) {
      item.fail(fmt::format("{} numbers", kSizes + 2));
    }
    NearestModel::Entry& entry = entries.emplace_back();
    std::copy_n(values.begin(), entry.at.size(), entry.at.begin());
    entry.residual = values.back();
  }
  return std::make_unique<NearestModel>(read_base(field.at("base")), std::move(entries));
}

}  // namespace

void RooflineModel::append_json(std::string& out) const {
  begin(out, kind());
  out += ",\"base\":";
  append_base(out, base_);
  out += "}";
}

void TwoClockModel::append_json(std::string& out) const {
  begin(out, kind());
  out += ",\"base\":";
  append_base(out, base_);
  out += "}";
}

void TreesModel::append_json(std::string& out) const {
  begin(out, kind());
  out += ",\"base\":";
  append_base(out, base_);
  if (trend_.slope != 0) {
    out += ",\"trend\":[";
    append_number(out, trend_.slope);
    out += ",";
    append_number(out, trend_.knee);
    out += "]";
  }
  out += ",\"operators\":";
  append_codes(out, codes_);
  out += ",\"trees\":";
  append_trees(out, trees_);
  out += "}";
}

void MeanModel::append_json(std::string& out) const {
  begin(out, kind());
  out += ",\"of\":[";
  first_->append_json(out);
  out += ",";
  second_->append_json(out);
  out += "]}";
}

void TransferredModel::append_json(std::string& out) const {
  begin(out, kind());
  out += ",\"base\":";
  append_base(out, base_);
  out += ",\"trust\":";
  append_number(out, trust_);
  out += ",\"operators\":";
  append_codes(out, codes_);
  out += ",\"trees\":";
  append_trees(out, own_);
  out += "}";
}

void NearestModel::append_json(std::string& out) const {
  begin(out, kind());
  out += ",\"base\":";
  append_base(out, roofline_);
  out += ",\"entries\":[";
  for (const Entry& entry : entries_) {
    out += out.back() == '[' ? "" : ",";
    std::vector<float> values(entry.at.begin(), entry.at.end());
    values.push_back(entry.residual);
    append_floats(out, values);
  }
  out += "]}";
}

void append_json(std::string& out, const SharedModel& shared) {
  out += "{\"wide\":";
  append_base(out, shared.wide);
  out += ",\"narrow\":";
  append_base(out, shared.narrow);
  out += ",\"operators\":";
  append_codes(out, shared.codes);
  out += ",\"trees\":";
  append_trees(out, shared.trees);
  out += "}";
}

std::shared_ptr<const SharedModel> read_shared_model(const JsonField& field) {
  auto shared = std::make_shared<SharedModel>();
  shared->wide = read_base(field.at("wide"));
  shared->narrow = read_base(field.at("narrow"));
  shared->codes = read_codes(field.at("operators"));
  shared->trees = read_trees(field.at("trees"));
  return shared;
}

namespace {

std::unique_ptr<CallModel> read_mean(const JsonField& field,
                                     const std::shared_ptr<const SharedModel>& shared) {
  const JsonField of = field.at("of");
  std::vector<std::unique_ptr<CallModel>> models;
  for (const JsonField& model : of.items()) {
    if (model.at("model").as_text() == to_string(Candidate::kMean)) {
      of.fail("models that are no means themselves");
    }
    models.push_back(read_model(model, shared));
  }
  if (models.size() != 2) {
    of.fail("two models", std::to_string(models.size()));
  }
  return std::make_unique<MeanModel>(std::move(models[0]), std::move(models[1]));
}

}  // namespace

std::unique_ptr<CallModel> read_model(const JsonField& field,
                                      const std::shared_ptr<const SharedModel>& shared) {
  const JsonField name = field.at("model");
  const std::optional<Candidate> kind = candidate_from_string(name.as_text());
  if (!kind) {
    name.fail("a kind of model that this version knows", name.as_text());
  }
  switch (*kind) {
    case Candidate::kRoofline:
      return std::make_unique<RooflineModel>(read_base(field.at("base")));
    case Candidate::kTwoClock:
      return std::make_unique<TwoClockModel>(read_base(field.at("base")));
    case Candidate::kTrees:
      return std::make_unique<TreesModel>(read_base(field.at("base")), read_trend(field),
                                          read_codes(field.at("operators")),
                                          read_trees(field.at("trees")));
    case Candidate::kNearest:
      return read_nearest(field);
    case Candidate::kMean:
      return read_mean(field, shared);
    case Candidate::kTransferred:
    case Candidate::kTransferredTrees:
      break;
  }
  if (!shared) {
    name.fail("a model shared by several cards that it builds on", "none");
  }
  return std::make_unique<TransferredModel>(
      shared, read_base(field.at("base")), finite(field.at("trust")), read_trees(field.at("trees")),
      read_codes(field.at("operators")));
}

}  // namespace understudy::predictor
