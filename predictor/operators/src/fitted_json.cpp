#include <fmt/format.h>

#include <cmath>

#include "et_schema/support/json_fields.h"
#include "et_schema/support/json_text.h"
#include "predictor/operators/operator_models.h"

namespace understudy::predictor {
namespace {

using et_schema::append_json_double;
using et_schema::append_json_string;
using et_schema::JsonField;

void append_key(std::string& out, const char* key) {
  out += out.back() == '{' ? "\"" : ",\"";
  out += key;
  out += "\":";
}

void append_texts(std::string& out, const std::vector<std::string>& texts) {
  out += "[";
  for (const std::string& text : texts) {
    out += out.back() == '[' ? "" : ",";
    append_json_string(out, text);
  }
  out += "]";
}

void append_size_floats(std::string& out, const std::array<float, kSizes + 1>& values) {
  out += "[";
  for (const float value : values) {
    out += out.back() == '[' ? "" : ",";
    append_json_double(out, static_cast<double>(value));
  }
  out += "]";
}

std::array<float, kSizes + 1> read_size_floats(const JsonField& field) {
  std::array<float, kSizes + 1> values{};
  const std::vector<JsonField> items = field.items();
  if (items.size() != values.size()) {
    field.fail(fmt::format("{} numbers", values.size()));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(items[i].as_double());
  }
  return values;
}

double read_width(const JsonField& field) {
  const double width = field.as_double();
  if (!(width >= 0) || std::isinf(width)) {
    field.fail("a width of 0 or more");
  }
  return width;
}

template <typename Map>
void append_models(std::string& out, const Map& models) {
  out += "{";
  for (const auto& [name, fitted] : models) {
    out += out.back() == '{' ? "\n" : ",\n";
    append_json_string(out, name);
    out += ":";
    append_json(out, fitted);
  }
  out += "}";
}

void append_device(std::string& out, const DeviceKey& key, const DeviceModels& device) {
  out += "{";
  append_key(out, "device");
  append_json_string(out, key.device);
  append_key(out, "threads");
  et_schema::append_json_int(out, key.threads);
  append_key(out, "timed");
  append_json_string(out, to_string(key.timed));
  append_key(out, "card");
  out += to_json(device.card);
  append_key(out, "operators");
  append_models(out, device.by_operator);
  append_key(out, "families");
  append_models(out, device.by_family);
  out += "}";
}

void append_shared(std::string& out, const SharedFit& fit) {
  out += "{";
  append_key(out, "cards");
  append_texts(out, fit.cards);
  append_key(out, "operators");
  append_texts(out, fit.operators);
  append_key(out, "errors");
  append_json(out, fit.errors);
  append_key(out, "width");
  append_json_double(out, fit.width);
  append_key(out, "narrow_width");
  append_json_double(out, fit.narrow_width);
  append_key(out, "range");
  append_json(out, fit.range);
  append_key(out, "model");
  append_json(out, *fit.model);
  out += "}";
}

SharedFit read_shared(const JsonField& field) {
  SharedFit fit;
  fit.cards = field.at("cards").as_texts();
  fit.operators = field.at("operators").as_texts();
  fit.errors = read_errors(field.at("errors"));
  fit.width = read_width(field.at("width"));
  const auto narrow = field.find("narrow_width");
  fit.narrow_width = narrow ? read_width(*narrow) : fit.width;
  fit.range = read_range(field.at("range"));
  fit.model = read_shared_model(field.at("model"));
  return fit;
}

std::pair<DeviceKey, DeviceModels> read_device(const JsonField& field,
                                               const OperatorModels& models) {
  DeviceKey key{field.at("device").as_text(), field.at("threads").as_int32(), TimedAs::kTimedCall};
  const JsonField timed = field.at("timed");
  const std::optional<TimedAs> known = timed_as_from_string(timed.as_text());
  if (!known) {
    timed.fail("timed_call, device or host", timed.as_text());
  }
  key.timed = *known;
  DeviceModels device;
  device.card = read_card(field.at("card"));
  const auto read_into = [&](const char* name, std::map<std::string, FittedModel>& group) {
    for (const auto& [model_name, value] : field.at(name).members()) {
      const auto shared = models.shared().find(shared_key(key.timed, model_name));
      group.emplace(model_name,
                    read_fitted_model(
                        value, shared == models.shared().end() ? nullptr : shared->second.model));
    }
  };
  read_into("operators", device.by_operator);
  read_into("families", device.by_family);
  return {key, std::move(device)};
}

}  // namespace

void append_json(std::string& out, const Errors& errors) {
  out += "{";
  append_key(out, "n");
  et_schema::append_json_uint(out, errors.n);
  append_key(out, "mean");
  append_json_double(out, errors.mean);
  append_key(out, "geometric");
  append_json_double(out, errors.geometric);
  append_key(out, "worst");
  append_json_double(out, errors.worst);
  append_key(out, "bias");
  append_json_double(out, errors.bias);
  out += "}";
}

Errors read_errors(const JsonField& field) {
  return {field.at("n").as_uint(), field.at("mean").as_double(), field.at("geometric").as_double(),
          field.at("worst").as_double(), field.at("bias").as_double()};
}

void append_json(std::string& out, const Range& range) {
  out += "{\"low\":";
  append_size_floats(out, range.low);
  out += ",\"high\":";
  append_size_floats(out, range.high);
  out += "}";
}

Range read_range(const JsonField& field) {
  return {read_size_floats(field.at("low")), read_size_floats(field.at("high"))};
}

void append_json(std::string& out, const FittedModel& fitted) {
  out += "{";
  append_key(out, "rows");
  et_schema::append_json_uint(out, fitted.rows);
  append_key(out, "operators");
  append_texts(out, fitted.operators);
  append_key(out, "candidates");
  out += "[";
  for (const CandidateErrors& candidate : fitted.candidates) {
    out += out.back() == '[' ? "" : ",";
    out += "{\"model\":";
    append_json_string(out, to_string(candidate.candidate));
    out += ",\"errors\":";
    append_json(out, candidate.errors);
    out += "}";
  }
  out += "]";
  append_key(out, "width");
  append_json_double(out, fitted.width);
  append_key(out, "width_beyond");
  append_json_double(out, fitted.width_beyond);
  if (fitted.least_share < 1) {
    append_key(out, "least_share");
    append_json_double(out, fitted.least_share);
  }
  append_key(out, "range");
  append_json(out, fitted.range);
  append_key(out, "fit");
  fitted.model->append_json(out);
  if (fitted.beyond) {
    append_key(out, "fit_beyond");
    fitted.beyond->append_json(out);
  }
  out += "}";
}

FittedModel read_fitted_model(const JsonField& field,
                              const std::shared_ptr<const SharedModel>& shared) {
  FittedModel fitted;
  fitted.rows = field.at("rows").as_uint();
  fitted.operators = field.at("operators").as_texts();
  for (const JsonField& item : field.at("candidates").items()) {
    const std::optional<Candidate> kind = candidate_from_string(item.at("model").as_text());
    if (!kind) {
      item.at("model").fail("a kind of model that this version knows", item.at("model").as_text());
    }
    fitted.candidates.push_back({*kind, read_errors(item.at("errors"))});
  }
  if (fitted.candidates.empty()) {
    field.at("candidates").fail("the chosen model's errors first");
  }
  fitted.width = read_width(field.at("width"));
  fitted.width_beyond = read_width(field.at("width_beyond"));
  if (const auto share = field.find("least_share")) {
    fitted.least_share = share->as_double();
    if (!(fitted.least_share > 0 && fitted.least_share <= 1)) {
      share->fail("a share above 0, of at most 1");
    }
  }
  fitted.range = read_range(field.at("range"));
  fitted.model = read_model(field.at("fit"), shared);
  if (const auto beyond = field.find("fit_beyond")) {
    fitted.beyond = read_model(*beyond, shared);
  }
  return fitted;
}

std::string to_json(const OperatorModels& models) {
  std::string out = "{\"cards\":[";
  for (const Card& card : models.cards()) {
    out += out.back() == '[' ? "\n" : ",\n";
    out += to_json(card);
  }
  out += "],\"shared\":{";
  for (const auto& [name, fit] : models.shared()) {
    out += out.back() == '{' ? "\n" : ",\n";
    append_json_string(out, name);
    out += ":";
    append_shared(out, fit);
  }
  out += "},\"devices\":[";
  for (const auto& [key, device] : models.devices()) {
    out += out.back() == '[' ? "\n" : ",\n";
    append_device(out, key, device);
  }
  return out + "]}";
}

OperatorModels read_operator_models(const JsonField& field) {
  OperatorModels models;
  for (const JsonField& card : field.at("cards").items()) {
    models.add_card(read_card(card));
  }
  for (const auto& [name, fit] : field.at("shared").members()) {
    models.add(name, read_shared(fit));
  }
  for (const JsonField& item : field.at("devices").items()) {
    auto [key, device] = read_device(item, models);
    models.add(std::move(key), std::move(device));
  }
  return models;
}

}  // namespace understudy::predictor
