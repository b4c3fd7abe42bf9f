#include "et_schema/prediction/prediction.h"
#include "et_schema/support/json_fields.h"

namespace understudy::et_schema {
namespace {

PredictedBreakdown read_breakdown(const JsonField& field) {
  return {field.at("compute").as_double(), field.at("exposed_communication").as_double(),
          field.at("host_bound").as_double(), field.at("idle").as_double()};
}

PredictedRank read_rank(const JsonField& field) {
  PredictedRank rank;
  rank.rank = field.at("rank").as_int32();
  rank.iteration_ms = field.at("iteration_ms").as_double();
  rank.breakdown_ms = read_breakdown(field.at("breakdown_ms"));
  if (const auto step = field.find("recorded_step")) {
    rank.recorded_step = {step->at("predicted_ms").as_double(), step->at("recorded_ms").as_double(),
                          step->at("unprofiled_ms").as_double_or_null()};
  }
  return rank;
}

PredictedOperator read_operator(const JsonField& field) {
  PredictedOperator row;
  row.instruction = field.at("instruction").as_uint();
  row.name = field.at("name").as_text();
  row.op_class = field.at("class").as_text();
  row.time = {field.at("ms").as_double(), field.at("low").as_double(),
              field.at("high").as_double()};
  row.host_ms = field.at("host_ms").as_double();
  row.gap_ms = field.at("gap_ms").as_double();
  row.model = field.at("model").as_text();
  row.extrapolated = field.at("extrapolated").as_bool();
  return row;
}

PredictedChange read_change(const JsonField& field) {
  PredictedChange change{field.at("what_if").as_free_text(), {}};
  for (const JsonField& row : field.at("changes").items()) {
    change.rows.push_back({row.at("name").as_text(), row.at("count").as_uint(),
                           row.at("before_ms").as_double(), row.at("after_ms").as_double()});
  }
  return change;
}

JsonSource source_of(const std::string& file) {
  return {file, "the prediction cannot be read", "make it again with `predict --report`"};
}

void check(const JsonField& root, const std::string& file) {
  const auto writer = root.find("tool_version");
  check_format(root, {"prediction", "understudy-prediction", kPredictionVersion}, file,
               writer ? writer->as_text() : "");
}

PredictedTime read_iteration(const JsonField& field) {
  return {field.at("predicted").as_double(), field.at("low").as_double(),
          field.at("high").as_double()};
}

}  // namespace

PredictedIteration parse_predicted_iteration(std::string_view text, const std::string& file) {
  const JsonSource source = source_of(file);
  const nlohmann::json document = parse_json(text, source);
  const JsonField root(document, source);
  check(root, file);
  const JsonField time = root.at("iteration_ms");
  PredictedIteration iteration;
  iteration.time = read_iteration(time);
  const auto& [ms, low, high] = iteration.time;
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
}

Prediction parse_prediction(std::string_view text, const std::string& file) {
  const JsonSource source = source_of(file);
  const nlohmann::json document = parse_json(text, source);
  const JsonField root(document, source);
  check(root, file);
  Prediction prediction;
  prediction.tool_version = root.at("tool_version").as_text();
  prediction.benchmark = root.at("benchmark").as_text();
  prediction.benchmark_hash = root.at("benchmark_hash").as_text();
  prediction.world_size = root.at("world_size").as_int32();
  prediction.iteration_ms = read_iteration(root.at("iteration_ms"));
  prediction.breakdown_ms = read_breakdown(root.at("breakdown_ms"));
  prediction.bound_by = root.at("bound_by").as_text();
  for (const JsonField& rank : root.at("ranks").items()) {
    prediction.ranks.push_back(read_rank(rank));
  }
  prediction.slowest_rank = root.at("slowest_rank").as_int32();
  for (const JsonField& row : root.at("classes").items()) {
    prediction.classes.push_back(
        {row.at("name").as_text(), row.at("count").as_uint(), row.at("ms").as_double()});
  }
  for (const JsonField& row : root.at("operators").items()) {
    prediction.operators.push_back(read_operator(row));
  }
  for (const JsonField& row : root.at("critical_path").items()) {
    prediction.critical_path.push_back({row.at("name").as_text(), row.at("where").as_text(),
                                        row.at("count").as_uint(), row.at("ms").as_double()});
  }
  for (const JsonField& row : root.at("unmodelled").items()) {
    prediction.unmodelled.push_back(
        {row.at("name").as_text(), row.at("count").as_uint(), row.at("share").as_double()});
  }
  if (const auto without = root.find("without_what_if_ms")) {
    prediction.without_what_if_ms = without->as_double();
  }
  for (const JsonField& change : root.at("what_if").items()) {
    prediction.what_if.push_back(read_change(change));
  }
  if (const auto overlap = root.find("overlap")) {
    for (const JsonField& row : overlap->items()) {
      prediction.overlap.push_back({row.at("work").as_text(), row.at("factor").as_double(),
                                    row.at("low").as_double(), row.at("high").as_double(),
                                    row.at("source").as_text()});
    }
  }
  prediction.assumptions = root.at("assumptions").as_free_texts();
  for (const auto& [key, value] : root.at("platform").members()) {
    prediction.platform[key] = value.as_text();
  }
  return prediction;
}

}  // namespace understudy::et_schema
