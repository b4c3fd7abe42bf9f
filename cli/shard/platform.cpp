#include "platform.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "et_schema/base/error.h"
#include "et_schema/base/json_fields.h"
#include "predictor/collectives/models.h"
#include "predictor/embedding/fitted.h"
#include "predictor/platform/platform.h"
#include "predictor/platform/platform_costs.h"

namespace understudy::cli {
namespace {

using et_schema::JsonField;
using predictor::BandwidthSigmoid;
using predictor::Estimate;

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kPublishedMemoryBytes = 0.8 * 32 * kGiB;

/// All-to-all on 4 and on 8 V100 (owensgroup/ml_perf_model, outputs in its history).
constexpr BandwidthSigmoid kFour{13,         27,          56.7134,   85.6,
                                 5.97878216, 13.33976161, .22551425, -3.99731681};
constexpr BandwidthSigmoid kEight{12,         24,          45.8154,   68.0,
                                  5.88387459, 12.51962025, .23138583, -4.02494046};

/// The published mean error of such calls on 4 GPUs is 7.4 %; other numbers of ranks are a guess.
Estimate published_all_to_all(double link_bytes, int ranks) {
  constexpr double kNsPerUs = 1e3;
  constexpr double kWidth = 0.15;
  constexpr double kOtherRanks = 0.5;
  constexpr int kFourRanks = 4;
  constexpr int kEightRanks = 8;
  const bool is_published = ranks == kFourRanks || ranks == kEightRanks;
  const double ns =
      predictor::sigmoid_us(ranks <= kFourRanks ? kFour : kEight, std::max(link_bytes, 1.0)) *
      kNsPerUs;
  const double width = is_published ? kWidth : kOtherRanks;
  return {.ns = ns,
          .low_ns = ns * std::exp(-width),
          .high_ns = ns * std::exp(width),
          .model = "published sigmoid",
          .extrapolated = !is_published};
}

template <typename Model>
Model section_of(const predictor::Platform& platform, const std::string& path, const char* name,
                 const char* hint, Model (*read)(const JsonField&)) {
  const auto found = platform.sections.find(name);
  if (found == platform.sections.end()) {
    throw et_schema::usage_error("the platform lacks what placing tables needs",
                                 {.file = path,
                                  .field = std::string("sections.") + name,
                                  .expected = "models of it",
                                  .got = "none",
                                  .hint = hint});
  }
  const et_schema::JsonSource source{path + ", sections." + name, "the platform cannot be read",
                                     "make the file again with `calibrate`"};
  const nlohmann::json document = et_schema::parse_json(found->second, source);
  return read(JsonField(document, source));
}

bool has_gpus(const predictor::CollectiveModels& models) {
  return std::ranges::any_of(models.platforms,
                             [](const auto& platform) { return platform.on_device; });
}

}  // namespace

ShardPlatform::ShardPlatform(const ShardArguments& arguments)
    : name_("V100, published figures"),
      memory_bytes_(kPublishedMemoryBytes),
      nodes_(arguments.nodes) {
  if (arguments.platform.empty()) {
    embedding_ = predictor::published_embedding_costs(predictor::published_v100());
  } else {
    read(arguments);
  }
  if (arguments.memory_gib) {
    memory_bytes_ = *arguments.memory_gib * kGiB;
  }
}

void ShardPlatform::read(const ShardArguments& arguments) {
  const std::string& path = arguments.platform;
  platform_ = predictor::read_platform(path);
  read_embeddings(path);
  if (arguments.ranks > 1) {  // a single rank exchanges nothing
    collectives_ = section_of(platform_, path, "collectives",
                              "add rows of communication: mpirun -np N calibrate --rows "
                              "comms.jsonl, or nccl-tests' output; then calibrate PLATFORM ROWS",
                              predictor::collectives_from_json);
  }
  memory_bytes_ = std::numeric_limits<double>::infinity();
  name_ = std::filesystem::path(path).filename();
}

/// Reads the costs of embedding tables. Prefers rows of whole tables to rows of single operators:
/// they include the effect of repeated lookups.
void ShardPlatform::read_embeddings(const std::string& path) {
  if (!platform_.sections.contains("embeddings")) {
    std::set<std::string> names;
    for (const auto& [key, unused] : platform_.operators.devices()) {
      if (predictor::has_embedding_calls(platform_.operators, key)) {
        names.insert(key.device);
      }
    }
    if (names.size() > 1) {
      throw et_schema::usage_error(
          "the platform has embedding tables of several devices",
          {.file = path,
           .expected = "those of one",
           .got = fmt::format("{}", fmt::join(names, "; ")),
           .hint = "calibrate the rows of one device into a platform of its own"});
    }
    if (!names.empty()) {
      embedding_ = predictor::operator_embedding_costs(
          platform_.operators, predictor::find_device(platform_.operators, {*names.begin(), 1}));
      return;
    }
  }
  embedding_ = predictor::embedding_costs(section_of(
      platform_, path, "embeddings",
      "measure operators on embedding tables: calibrate --only embedding; or add rows of "
      "whole tables",
      predictor::embedding_from_json));
}

predictor::ShardCosts ShardPlatform::costs() const {
  predictor::ShardCosts costs;
  costs.embedding = embedding_;
  if (collectives_.series.empty()) {
    costs.all_to_all = published_all_to_all;
    return costs;
  }
  predictor::GroupComm call;
  call.kind = et_schema::CommKind::kAllToAll;
  call.nodes = nodes_;
  call.on_device = has_gpus(collectives_);
  costs.all_to_all = [this, call](double link_bytes, int ranks) mutable {
    // nccl-tests' size of an exchange includes what a rank keeps.
    call.bytes = std::llround(link_bytes * ranks / (ranks - 1));
    call.ranks = ranks;
    return predictor::estimate(collectives_, call);
  };
  return costs;
}

}  // namespace understudy::cli
