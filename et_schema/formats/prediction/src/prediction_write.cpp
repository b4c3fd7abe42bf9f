#include <nlohmann/json.hpp>
#include <utility>

#include "et_schema/prediction/prediction.h"

namespace understudy::et_schema {
namespace {

// Keys stand in the order of the contract.
using Json = nlohmann::ordered_json;

Json breakdown_json(const PredictedBreakdown& breakdown) {
  return Json{{"compute", breakdown.compute},
              {"exposed_communication", breakdown.exposed_communication},
              {"host_bound", breakdown.host_bound},
              {"idle", breakdown.idle}};
}

Json rank_json(const PredictedRank& rank) {
  Json json;
  json["rank"] = rank.rank;
  json["iteration_ms"] = rank.iteration_ms;
  json["breakdown_ms"] = breakdown_json(rank.breakdown_ms);
  if (rank.recorded_step) {
    Json& step = json["recorded_step"];
    step["predicted_ms"] = rank.recorded_step->predicted_ms;
    step["recorded_ms"] = rank.recorded_step->recorded_ms;
    step["unprofiled_ms"] =
        rank.recorded_step->unprofiled_ms ? Json(*rank.recorded_step->unprofiled_ms) : Json();
  }
  return json;
}

Json operator_json(const PredictedOperator& row) {
  return Json{{"instruction", row.instruction},
              {"name", row.name},
              {"class", row.op_class},
              {"ms", row.time.ms},
              {"low", row.time.low},
              {"high", row.time.high},
              {"host_ms", row.host_ms},
              {"gap_ms", row.gap_ms},
              {"model", row.model},
              {"extrapolated", row.extrapolated}};
}

template <typename Row, typename ToJson>
Json list(const std::vector<Row>& rows, ToJson to_json_of) {
  Json json = Json::array();
  for (const Row& row : rows) {
    json.push_back(to_json_of(row));
  }
  return json;
}

Json change_json(const PredictedChange& change) {
  Json json;
  json["what_if"] = change.what_if;
  json["changes"] = list(change.rows, [](const PredictedChange::Row& row) {
    return Json{{"name", row.name},
                {"count", row.count},
                {"before_ms", row.before_ms},
                {"after_ms", row.after_ms}};
  });
  return json;
}

}  // namespace

std::string to_json(const Prediction& prediction) {
  Json json;
  json["format"] = "understudy-prediction";
  json["version"] = kPredictionVersion;
  json["tool_version"] = prediction.tool_version;
  json["benchmark"] = prediction.benchmark;
  json["benchmark_hash"] = prediction.benchmark_hash;
  json["world_size"] = prediction.world_size;
  json["iteration_ms"] = Json{{"predicted", prediction.iteration_ms.ms},
                              {"low", prediction.iteration_ms.low},
                              {"high", prediction.iteration_ms.high}};
  json["breakdown_ms"] = breakdown_json(prediction.breakdown_ms);
  json["bound_by"] = prediction.bound_by;
  json["ranks"] = list(prediction.ranks, rank_json);
  json["slowest_rank"] = prediction.slowest_rank;
  json["classes"] = list(prediction.classes, [](const PredictedClass& row) {
    return Json{{"name", row.name}, {"count", row.count}, {"ms", row.ms}};
  });
  json["operators"] = list(prediction.operators, operator_json);
  json["critical_path"] = list(prediction.critical_path, [](const PredictedPathRow& row) {
    return Json{{"name", row.name}, {"where", row.where}, {"count", row.count}, {"ms", row.ms}};
  });
  json["unmodelled"] = list(prediction.unmodelled, [](const PredictedUnmodelled& row) {
    return Json{{"name", row.name}, {"count", row.count}, {"share", row.share}};
  });
  if (prediction.without_what_if_ms) {
    json["without_what_if_ms"] = *prediction.without_what_if_ms;
  }
  json["what_if"] = list(prediction.what_if, change_json);
  if (!prediction.overlap.empty()) {
    json["overlap"] = list(prediction.overlap, [](const PredictedOverlap& row) {
      return Json{{"work", row.work},
                  {"factor", row.factor},
                  {"low", row.low},
                  {"high", row.high},
                  {"source", row.source}};
    });
  }
  json["assumptions"] = prediction.assumptions;
  json["platform"] = prediction.platform;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace understudy::et_schema
