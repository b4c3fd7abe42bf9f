#include "et_schema/base/json_record.h"
#include "et_schema/formats/prediction/prediction.h"

namespace understudy::et_schema {

/// A predicted time. Other tools may write this part.
static void time_members(auto& json, auto& time) {
  json("predicted", time.value);
  json("low", time.low);
  json("high", time.high);
}

void members(auto& json, SameAs<PredictedBreakdown> auto& breakdown) {
  json("compute", breakdown.compute);
  json("exposed_communication", breakdown.exposed_communication);
  json("host_bound", breakdown.host_bound);
  json("idle", breakdown.idle);
  json.unless(0.0, "for_ranks", breakdown.for_ranks);
}

void members(auto& json, SameAs<PredictedRecordedStep> auto& step) {
  json("predicted_ms", step.predicted_ms);
  json("recorded_ms", step.recorded_ms);
  json("unprofiled_ms", step.unprofiled_ms);
}

void members(auto& json, SameAs<PredictedRank> auto& rank) {
  json("rank", rank.rank);
  json("iteration_ms", rank.iteration_ms);
  json("breakdown_ms", rank.breakdown_ms);
  json.unless(std::nullopt, "recorded_step", rank.recorded_step);
}

void members(auto& json, SameAs<PredictedOperator> auto& row) {
  json("instruction", row.instruction);
  json("name", row.name);
  json("class", row.op_class);
  json("ms", row.ms.value);
  json("low", row.ms.low);
  json("high", row.ms.high);
  json("on_device", row.on_device);
  json("host_ms", row.host_ms);
  json("gap_ms", row.gap_ms);
  json("model", row.model);
  json("extrapolated", row.extrapolated);
}

void members(auto& json, SameAs<PredictedSum> auto& row) {
  json("name", row.name);
  json.if_any("where", row.where);
  json("count", row.count);
  json("ms", row.ms);
}

void members(auto& json, SameAs<PredictedChange::Row> auto& row) {
  json("name", row.name);
  json("count", row.count);
  json("before_ms", row.before_ms);
  json("after_ms", row.after_ms);
}

void members(auto& json, SameAs<PredictedChange> auto& change) {
  json("what_if", change.what_if, kFreeText);
  json("changes", change.rows);
}

void members(auto& json, SameAs<IntervalPart> auto& part) {
  json("name", part.name);
  json("variance_ms2", part.variance_ms2);
}

void members(auto& json, SameAs<PredictedMemory> auto& memory) {
  json("rank", memory.rank);
  json("peak_bytes", memory.peak_bytes);
  json("card_bytes", memory.card_bytes);
  json("before_bytes", memory.before_bytes);
  json("largest", memory.largest);
}

void members(auto& json, SameAs<Prediction> auto& prediction) {
  json("tool_version", prediction.tool_version);
  json("benchmark", prediction.benchmark);
  json("benchmark_hash", prediction.benchmark_hash);
  json("world_size", prediction.world_size);
  json.object("iteration_ms", [&](auto& inner) { time_members(inner, prediction.iteration_ms); });
  json("breakdown_ms", prediction.breakdown_ms);
  json("bound_ms", prediction.bound_ms);
  json("bound_by", prediction.bound_by);
  json("ranks", prediction.ranks);
  json("slowest_rank", prediction.slowest_rank);
  json("classes", prediction.classes);
  json("operators", prediction.operators);
  json("critical_path", prediction.critical_path);
  json("interval_parts", prediction.interval_parts);
  json("doubtful", prediction.doubtful);
  json.if_any("explained", prediction.explained);
  json("account", prediction.account);
  json.if_any("disturbance", prediction.disturbance);
  json.unless(StepWork(), "work", prediction.work);
  json.unless(std::nullopt, "memory", prediction.memory);
  json.unless(std::nullopt, "free_host_ms", prediction.free_host_ms);
  json.unless(std::nullopt, "without_what_if_ms", prediction.without_what_if_ms);
  json("what_if", prediction.what_if);
  json("assumptions", prediction.assumptions, kFreeText);
  json("platform", prediction.platform);
}

/// Parses a prediction and returns the result of `read`.
template <typename Read>
static auto with_root(std::string_view text, const std::string& file, Read&& read) {
  const JsonSource source{file, "the prediction cannot be read",
                          "make it again with `understudy predict --report`"};
  const nlohmann::json document = parse_json(text, source);
  const JsonField root(document, source);
  check_format(root, {"prediction", "understudy-prediction", kPredictionVersion});
  return read(root);
}

PredictedIteration parse_predicted_iteration(std::string_view text, const std::string& file) {
  return with_root(text, file, [](const JsonField& root) {
    const JsonField time = root.at("iteration_ms");
    PredictedIteration iteration;
    JsonReader reader(time);
    time_members(reader, iteration.ms);
    const auto& [ms, low, high] = iteration.ms;
    if (!(ms > 0) || !(low > 0) || low > ms || high < ms) {
      time.fail("a time above 0 between its low and its high");
    }
    if (const auto operators = root.find("operators")) {
      for (const JsonField& row : operators->items()) {
        iteration.operators.emplace_back(row.at("name").as_text(), row.at("ms").as_double());
      }
    }
    if (const auto hash = root.find("benchmark_hash")) {
      iteration.benchmark_hash = hash->as_text();
    }
    return iteration;
  });
}

Prediction parse_prediction(std::string_view text, const std::string& file) {
  return with_root(text, file, [](const JsonField& root) { return read_json<Prediction>(root); });
}

nlohmann::ordered_json json_of(const Prediction& prediction) {
  nlohmann::ordered_json json = {{"format", "understudy-prediction"},
                                 {"version", kPredictionVersion}};
  json.update(json_of<Prediction>(prediction));
  return json;
}

std::string to_json(const Prediction& prediction) {
  return json_of(prediction).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace understudy::et_schema
