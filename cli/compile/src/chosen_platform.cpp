#include "cli/compile/chosen_platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/common/command_line.h"
#include "cli/common/own_program.h"
#include "predictor/calls/known_cards.h"
#include "predictor/operators/transfer.h"

namespace understudy::cli {
namespace {

namespace fs = std::filesystem;

fs::path file_of(const predictor::Card& card, const fs::path& folder) {
  std::string name = card.name;
  std::ranges::replace(name, ' ', '_');
  return folder / (name + ".platform.json.gz");
}

/// Reads the platform that ships for a card, or else for the nearest one.
ChosenPlatform shipped_platform(const predictor::Card& card) {
  const fs::path folder = shipped_folder("platforms");
  const predictor::Card* nearest = nullptr;
  double least = 0;
  for (const predictor::Card& known : predictor::known_cards()) {
    std::error_code error;
    const double octaves = predictor::octaves_between(card, known, et_schema::DType::kBFloat16);
    if (fs::exists(file_of(known, folder), error) && (nearest == nullptr || octaves < least)) {
      nearest = &known;
      least = octaves;
    }
  }
  refuse_if(nearest == nullptr, "no platform to predict from", "--card",
            "--platform beside it, or the folder of platforms that ships with Understudy",
            "no such folder", "scripts/platforms makes it from public tables");
  const std::string file = file_of(*nearest, folder).string();
  ChosenPlatform chosen{predictor::read_platform(file), file, card.name};
  if (nearest->name != card.name) {
    chosen.assumptions.push_back(fmt::format(
        "nothing was measured on {}: its times lean on those of {}, {:.1f} octaves away "
        "(docs/prediction.md, \"Other cards\")",
        card.name, nearest->name, least));
  }
  return chosen;
}

}  // namespace

ChosenPlatform choose_platform(const std::string& file, const std::string& asked) {
  if (asked.empty()) {
    return {predictor::read_platform(file), file, ""};
  }
  if (file.empty()) {
    predictor::Card card = predictor::card_named(asked, "--card");
    ChosenPlatform chosen = shipped_platform(card);
    chosen.platform.operators.add_card(std::move(card));
    return chosen;
  }
  ChosenPlatform chosen{predictor::read_platform(file), file, asked};
  const predictor::OperatorModels& models = chosen.platform.operators;
  const bool is_measured = std::ranges::any_of(
      models.devices(), [&](const auto& measured) { return measured.first.device == asked; });
  if (!is_measured && models.find_card(asked) == nullptr) {
    predictor::Card card = predictor::card_named(asked, "--card");
    chosen.device = card.name;
    chosen.platform.operators.add_card(std::move(card));
  }
  return chosen;
}

}  // namespace understudy::cli
