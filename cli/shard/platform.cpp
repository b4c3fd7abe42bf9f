#include "platform.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "et_schema/base/json_fields.h"
#include "predictor/embedding/fitted.h"
#include "predictor/platform/platform_costs.h"

namespace understudy::cli {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

template <typename Model>
Model needed_section(const predictor::Platform& platform, const std::string& path, const char* name,
                     const char* hint, Model (*read)(const et_schema::JsonField&)) {
  std::optional<Model> found = predictor::section_of(platform, name, read);
  refuse_if(!found, "the platform lacks what placing tables needs", std::string("sections.") + name,
            "models of it", "none", hint, path);
  return *std::move(found);
}

bool has_gpus(const predictor::CollectiveModels& models) {
  return std::ranges::any_of(models.series,
                             [](const auto& series) { return series.key.on_device; });
}

}  // namespace

ShardPlatform::ShardPlatform(const ShardArguments& arguments)
    : name_(arguments.platform.empty()
                ? arguments.card
                : std::filesystem::path(arguments.platform).filename().string()),
      memory_bytes_(arguments.memory_gib ? *arguments.memory_gib * kGiB
                                         : std::numeric_limits<double>::infinity()),
      nodes_(arguments.nodes),
      chosen_(choose_platform(arguments.platform, arguments.card)) {
  read_embeddings(arguments.platform, arguments.card);
  if (!arguments.card.empty()) {
    collectives_ = predictor::collectives_of(chosen_.platform);
  } else if (arguments.ranks > 1) {  // a single rank exchanges nothing
    collectives_ = needed_section(
        chosen_.platform, arguments.platform, "collectives",
        "add rows of communication: mpirun -np N understudy calibrate -o comms.jsonl, or "
        "nccl-tests' output; then understudy calibrate PLATFORM ROWS",
        predictor::collectives_from_json);
  }
}

/// Reads the costs of embedding tables. Prefers rows of whole tables to rows of single operators:
/// they include the effect of repeated lookups.
void ShardPlatform::read_embeddings(const std::string& path, const std::string& card) {
  if (!chosen_.platform.sections.contains("embeddings")) {
    std::set<std::string> names;
    for (const auto& [key, unused] : chosen_.platform.operators.devices()) {
      if ((card.empty() || key.device == chosen_.device) &&
          predictor::has_embedding_calls(chosen_.platform.operators, key)) {
        names.insert(key.device);
      }
    }
    refuse_if(names.size() > 1, "the platform has embedding tables of several devices", "",
              "those of one", fmt::format("{}", fmt::join(names, "; ")),
              "calibrate the rows of one device into a platform of its own", path);
    if (!names.empty()) {
      embedding_ = predictor::operator_embedding_costs(
          chosen_.platform.operators,
          predictor::find_device(chosen_.platform.operators, {*names.begin(), 1}));
      return;
    }
    if (const auto* const known = chosen_.platform.operators.find_card(chosen_.device)) {
      embedding_ = predictor::assumed_embedding_costs(*known);
      return;
    }
  }
  embedding_ = predictor::embedding_costs(needed_section(
      chosen_.platform, path, "embeddings",
      "name a card (--card H100); or measure operators on embedding tables: understudy calibrate "
      "--only embedding; or add rows of whole tables",
      predictor::embedding_from_json));
}

predictor::ShardCosts ShardPlatform::costs() const {
  predictor::ShardCosts costs;
  costs.embedding = embedding_;
  predictor::GroupComm call;
  call.kind = et_schema::CommKind::kAllToAll;
  call.nodes = nodes_;
  call.on_device = has_gpus(collectives_);
  // A search asks millions of times: the models are asked for sixteen sizes an octave.
  constexpr double kPerOctave = 16;
  costs.all_to_all = [this, call, known = std::map<std::pair<int, int>, predictor::Estimate>()](
                         double link_bytes, int ranks) mutable {
    const double octaves = std::log2(std::max(link_bytes, 1.0));
    const int below = static_cast<int>(std::floor(octaves * kPerOctave));
    const auto at = [&](int step) -> const predictor::Estimate& {
      const auto [found, is_new] = known.try_emplace({ranks, step});
      if (is_new) {
        // nccl-tests' size of an exchange includes what a rank keeps.
        call.bytes = std::llround(std::exp2(step / kPerOctave) * ranks / (ranks - 1));
        call.ranks = ranks;
        found->second = predictor::estimate(collectives_, call, {chosen_.device, ""});
      }
      return found->second;
    };
    const double share =
        (std::exp2(octaves - below / kPerOctave) - 1) / (std::exp2(1 / kPerOctave) - 1);
    return predictor::scaled(at(below), 1 + share * (at(below + 1).ns / at(below).ns - 1));
  };
  return costs;
}

}  // namespace understudy::cli
