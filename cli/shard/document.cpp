#include "document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/pages/document/from_json.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/version.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using pages::byte_counts, pages::counts, pages::facts_at, pages::figures, pages::ids, pages::ratios,
    pages::shares, pages::table_at, pages::texts;
using predictor::Plan;

constexpr double kNsPerMs = 1e6;
constexpr int kShardingVersion = 1;
constexpr std::size_t kRowsInText = 32;

double bytes_of(const predictor::ShardTask& task) {
  double bytes = 0;
  for (const predictor::NamedTable& table : task.tables) {
    bytes += held_bytes(table.table);
  }
  return bytes;
}

/// Rounds to six digits: more than any model predicts, and equal on every machine.
double rounded(double value) {
  return std::stod(fmt::format("{:.6g}", value));
}

double ms_of(double ns) {
  return rounded(ns / kNsPerMs);
}

/// Returns the mean rank's lookups and updates as a share of the slowest rank's.
double balance_of(const Plan& plan) {
  double sum = 0;
  double slowest = 0;
  for (const predictor::RankTime& time : plan.rank_times) {
    const double ns = time.forward.ns + time.backward.ns;
    sum += ns;
    slowest = std::max(slowest, ns);
  }
  return slowest > 0 ? sum / static_cast<double>(plan.rank_times.size()) / slowest : 1;
}

Json interval_json(double ns, double low_ns, double high_ns) {
  return {{"predicted", ms_of(ns)}, {"low", ms_of(low_ns)}, {"high", ms_of(high_ns)}};
}

Json estimate_json(const predictor::Estimate& estimate) {
  Json json = interval_json(estimate.ns, estimate.low_ns, estimate.high_ns);
  json["model"] = estimate.model;
  json["extrapolated"] = estimate.extrapolated;
  json["modelled"] = estimate.modelled;
  return json;
}

Json plan_json(const Plan& plan, double chosen_ns) {
  const predictor::StepTime& time = plan.time;
  Json json = {
      {"name", plan.name},
      {"fits", plan.fits},
      {"step_ms", interval_json(time.ns(), time.low_ns(), time.high_ns())},
      {"indices_ms", estimate_json(time.indices)},
      {"forward_ms", estimate_json(time.forward)},
      {"all_to_all_ms", estimate_json(time.all_to_all)},
      {"backward_ms", estimate_json(time.backward)},
      {"of_chosen", rounded(time.ns() / chosen_ns)},
      {"balance", rounded(balance_of(plan))},
      {"most_memory_bytes", std::ranges::max(plan.ranks, {}, &predictor::RankLoad::bytes).bytes},
      {"rank_of", plan.rank_of},
      {"ranks", Json::array()}};
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

Json placement_json(const Sharding& sharding) {
  const Plan& plan = sharding.plans.front();
  Json placement = Json::array();
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

Json document_of(const Sharding& sharding) {
  Json json = {{"format", "understudy-sharding"},
               {"version", kShardingVersion},
               {"tool_version", et_schema::kToolVersion},
               {"tables", sharding.tables_file},
               {"platform", sharding.platform},
               {"ranks", sharding.ranks},
               {"batch", sharding.task.batch},
               {"table_count", sharding.task.tables.size()},
               {"table_bytes", static_cast<std::uint64_t>(bytes_of(sharding.task))},
               {"memory_bytes", nullptr},
               {"chosen", sharding.plans.front().name},
               {"plans", Json::array()}};
  if (std::isfinite(sharding.memory_bytes)) {
    json["memory_bytes"] = sharding.memory_bytes;
  }
  for (const Plan& plan : sharding.plans) {
    json["plans"].push_back(plan_json(plan, sharding.plans.front().time.ns()));
  }
  json["placement"] = placement_json(sharding);
  return json;
}

pages::Section head_section(const Json& document) {
  return {
      "head",
      "What is placed",
      {facts_at(document, "",
                {counts("tables", "table_count"), byte_counts("size of the tables", "table_bytes"),
                 counts("ranks"), counts("samples on each", "batch"),
                 byte_counts("memory for them on a rank, if bounded", "memory_bytes"),
                 texts("file", "tables"), texts("platform")})}};
}

/// Lists plans that fit first, fastest first.
pages::Section plans_section(const Json& document) {
  pages::Table table = table_at(
      document, "/plans", "A step's embedding tables, ms, by plan; two all-to-alls a step",
      {texts("plan", "name"), figures("step", "step_ms/predicted"),
       figures("from", "step_ms/low", 1, "90 % interval"),
       figures("to", "step_ms/high", 1, "90 % interval"), ratios("÷ chosen", "of_chosen"),
       figures("indices", "indices_ms/predicted"), figures("forward", "forward_ms/predicted"),
       figures("all-to-all", "all_to_all_ms/predicted"),
       figures("backward", "backward_ms/predicted"),
       shares("balance", "balance", "mean ÷ slowest rank"),
       byte_counts("most memory", "most_memory_bytes"), texts("fits")});
  std::ranges::stable_sort(table.rows, {}, [](const std::vector<pages::Cell>& row) {
    return std::pair(std::get<std::string>(row.back()) == "no", std::get<double>(row[1]));
  });
  return {"plans", "Plans", {std::move(table)}};
}

pages::Section chosen_section(const Json& document) {
  return {
      "chosen",
      "The chosen plan",
      {table_at(document, "/plans/0/ranks", "Ranks of " + document["chosen"].get<std::string>(),
                {ids("rank"), counts("shards"), byte_counts("memory", "memory_bytes"),
                 byte_counts("sends to each", "output_bytes"), figures("forward ms", "forward_ms"),
                 figures("backward ms", "backward_ms")},
                kRowsInText),
       table_at(document, "/placement", "Tables and their ranks; the parts of those that are cut",
                {texts("table"), ids("rank"), texts("cut in", "split"), ids("from", "begin"),
                 ids("before", "end")},
                kRowsInText)}};
}

/// Names the figures without a measurement of the platform.
std::vector<std::string> caveats_of(const Plan& plan) {
  std::vector<std::string> caveats;
  for (const auto& [what, estimate] :
       {std::pair("indices", &plan.time.indices), std::pair("forward", &plan.time.forward),
        std::pair("all-to-all", &plan.time.all_to_all),
        std::pair("backward", &plan.time.backward)}) {
    if (estimate->ns > 0 && (estimate->extrapolated || !estimate->modelled)) {
      caveats.push_back(fmt::format(
          "{}: {}, {}.", what, estimate->model,
          estimate->modelled ? "beyond what was measured on this platform" : "not modelled"));
    }
  }
  return caveats;
}

}  // namespace

pages::Page sharding_page(const Sharding& sharding) {
  const Json document = document_of(sharding);
  pages::Page page;
  page.title = sharding.tables_file + " on " + et_schema::counted(sharding.ranks, "rank");
  const Plan& plan = sharding.plans.front();
  page.verdict.sentence = fmt::format(
      "A step's tables take {} ms (90 % interval: {} … {}) if placed by {}; ranks work {} of the "
      "slowest's time on average.",
      et_schema::figure_text(ms_of(plan.time.ns())),
      et_schema::figure_text(ms_of(plan.time.low_ns())),
      et_schema::figure_text(ms_of(plan.time.high_ns())), plan.name,
      et_schema::share_text(balance_of(plan)));
  page.verdict.findings = caveats_of(plan);
  for (const std::string& assumption : sharding.assumptions) {
    page.verdict.findings.push_back(assumption + ".");
  }
  page.sections = {head_section(document), plans_section(document), chosen_section(document)};
  return made_by("shard", std::move(page), document, "sharding.json", 1);
}

}  // namespace understudy::cli
