#include "platform.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
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
  read_embeddings(arguments.platform);
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

/// Reads the costs of embedding tables: by rows of whole tables, without them by a card's data
/// sheet.
void ShardPlatform::read_embeddings(const std::string& path) {
  const auto* const card = chosen_.platform.operators.find_card(chosen_.device);
  if (card != nullptr && !chosen_.platform.sections.contains("embeddings")) {
    embedding_ = predictor::assumed_embedding_costs(*card);
    return;
  }
  embedding_ = predictor::embedding_costs(needed_section(
      chosen_.platform, path, "embeddings",
      "name a card (--card H100); or time tables, and add their rows: python $(understudy "
      "examples)/embedding_tables.py -o rows.jsonl, then understudy calibrate PLATFORM rows.jsonl",
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
