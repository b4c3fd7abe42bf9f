#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "common/json_csv.h"
#include "et_schema/support/version.h"
#include "shard/render.h"

namespace understudy::cli {
namespace {

using nlohmann::ordered_json;
using predictor::Estimate;
using predictor::Plan;

constexpr int kShardingVersion = 1;

/// Six digits: more than any model knows, and the same on every machine.
double ms_of(double ns) {
  return std::stod(fmt::format("{:.6g}", ns / kNsPerMs));
}

ordered_json interval_json(double ns, double low_ns, double high_ns) {
  return {{"predicted", ms_of(ns)}, {"low", ms_of(low_ns)}, {"high", ms_of(high_ns)}};
}

ordered_json estimate_json(const Estimate& estimate) {
  ordered_json json = interval_json(estimate.ns, estimate.low_ns, estimate.high_ns);
  json["model"] = estimate.model;
  json["extrapolated"] = estimate.extrapolated;
  json["modelled"] = estimate.modelled;
  return json;
}

ordered_json plan_json(const Plan& plan) {
  const predictor::StepTime& time = plan.time;
  ordered_json json = {{"name", plan.name},
                       {"fits", plan.fits},
                       {"step_ms", interval_json(time.ns(), time.low_ns(), time.high_ns())},
                       {"indices_ms", estimate_json(time.indices)},
                       {"forward_ms", estimate_json(time.forward)},
                       {"all_to_all_ms", estimate_json(time.all_to_all)},
                       {"backward_ms", estimate_json(time.backward)},
                       {"rank_of", plan.rank_of},
                       {"ranks", ordered_json::array()}};
  std::vector<int> shards(plan.ranks.size());
  for (const int rank : plan.rank_of) {
    ++shards[static_cast<std::size_t>(rank)];
  }
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    json["ranks"].push_back({{"rank", rank},
                             {"shards", shards[rank]},
                             {"memory_bytes", plan.ranks[rank].bytes},
                             {"output_bytes", plan.ranks[rank].output_bytes},
                             {"forward_ms", ms_of(plan.rank_times[rank].forward.ns)},
                             {"backward_ms", ms_of(plan.rank_times[rank].backward.ns)}});
  }
  return json;
}

ordered_json placement_json(const Sharding& sharding) {
  const Plan& plan = sharding.plans.front();
  ordered_json placement = ordered_json::array();
  for (std::size_t i = 0; i < plan.shards.size(); ++i) {
    const predictor::Shard& shard = plan.shards[i];
    placement.push_back({{"table", sharding.task.tables[shard.table].name},
                         {"split", to_string(shard.split)},
                         {"begin", shard.begin},
                         {"end", shard.end},
                         {"rank", plan.rank_of[i]}});
  }
  return placement;
}

ordered_json document_of(const Sharding& sharding) {
  ordered_json json = {{"format", "understudy-sharding"},
                       {"version", kShardingVersion},
                       {"tool_version", et_schema::kToolVersion},
                       {"tables", sharding.tables_file},
                       {"platform", sharding.platform},
                       {"ranks", sharding.ranks},
                       {"batch", sharding.task.batch},
                       {"memory_bytes", nullptr},
                       {"chosen", sharding.plans.front().name},
                       {"plans", ordered_json::array()}};
  if (std::isfinite(sharding.memory_bytes)) {
    json["memory_bytes"] = sharding.memory_bytes;
  }
  for (const Plan& plan : sharding.plans) {
    json["plans"].push_back(plan_json(plan));
  }
  json["placement"] = placement_json(sharding);
  return json;
}

}  // namespace

std::string sharding_json(const Sharding& sharding) {
  return document_of(sharding).dump(1) + "\n";
}

std::string sharding_csv(const Sharding& sharding) {
  return json_to_csv(document_of(sharding));
}

}  // namespace understudy::cli
