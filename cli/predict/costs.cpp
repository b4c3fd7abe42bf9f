#include "predict/costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "et_schema/support/error.h"
#include "et_schema/support/json_fields.h"
#include "predictor/collectives/models_json.h"

namespace understudy::cli {
namespace {

bool has_profiles(const predictor::Job& job) {
  return std::all_of(
      job.programs.begin(), job.programs.end(),
      [](const et_schema::Program* program) { return program->profile.has_value(); });
}

std::optional<predictor::CollectiveModels> collectives_of(const predictor::Platform& platform,
                                                          const std::string& file) {
  const auto section = platform.sections.find("collectives");
  if (section == platform.sections.end()) {
    return std::nullopt;
  }
  const et_schema::JsonSource source{file, "the platform cannot be read",
                                     "make the file again with `calibrate`"};
  const nlohmann::json document = et_schema::parse_json(section->second, source);
  return predictor::collectives_from_json(et_schema::JsonField(document, source));
}

/// The card is among the platform's from here on; its name.
std::string add_card(const std::string& file, predictor::Platform& platform) {
  std::vector<predictor::Card> cards = predictor::read_cards(file);
  if (cards.size() != 1) {
    throw et_schema::usage_error("--card takes one card",
                                 {.field = "--card",
                                  .expected = "a card's JSON file",
                                  .got = fmt::format("a folder of {}", cards.size())});
  }
  std::string name = cards.front().name;
  platform.operators.add_card(std::move(cards.front()));
  return name;
}

}  // namespace

ChosenCosts::ChosenCosts(const PredictArguments& arguments, const predictor::Job& job) {
  if (arguments.recorded || has_profiles(job)) {
    recorded_.emplace(job);
  }
  if (!arguments.recorded) {
    take_platform(arguments);
    return;
  }
  platform_text_ = {{"costs", "recorded"}};
  costs_ = &*recorded_;
  if (arguments.world_size) {
    scaled_.emplace(*recorded_, job.world_size());
    costs_ = &*scaled_;
  }
}

void ChosenCosts::take_platform(const PredictArguments& arguments) {
  platform_ = predictor::read_platform(arguments.platform);
  collectives_ = collectives_of(platform_, arguments.platform);
  predictor::CostParts parts;
  if (collectives_) {
    parts.communication = [this](const predictor::CommCall& call) {
      return predictor::estimate(*collectives_, call);
    };
  } else {
    assumptions_.emplace_back(
        "the platform file has no collectives: communication by 10 us and 10 GB/s");
  }
  if (recorded_) {
    parts.gap = [this](const et_schema::Program& program, const et_schema::Instruction& at) {
      return recorded_->of_gap(program, at);
    };
    parts.host = [this](const et_schema::Program& program, const et_schema::Instruction& at) {
      return recorded_->of_operator(program, at).host;
    };
    assumptions_.emplace_back(
        "gaps between operators, and a host's time to issue them, are the recorded ones");
  }
  const std::string name =
      arguments.card.empty() ? arguments.device : add_card(arguments.card, platform_);
  modelled_.emplace(platform_, predictor::PlatformDevice{name, std::max(arguments.threads, 1)},
                    std::move(parts));
  costs_ = &*modelled_;
  platform_text_ = {{"costs", "platform"},
                    {"file", std::filesystem::path(arguments.platform).filename().string()},
                    {"device", predictor::to_string(modelled_->device())}};
}

}  // namespace understudy::cli
