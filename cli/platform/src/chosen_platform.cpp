#include "cli/platform/chosen_platform.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>

#include "cli/common/command_line.h"
#include "et_schema/base/error.h"
#include "et_schema/base/nearest_word.h"
#include "et_schema/base/shipped.h"
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
  const fs::path folder = et_schema::shipped_folder("platforms");
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

/// Returns a name's letters and its number: "H", 300. Without both: "", 0.
std::pair<std::string, int> series_and_number(const std::string& name) {
  const std::size_t at = name.find_first_of("0123456789");
  const int number = at == 0 || at == std::string::npos ? 0 : std::atoi(name.c_str() + at);
  return {number > 0 ? name.substr(0, at) : "", number};
}

/// Returns the cards of the three models with these letters whose numbers are nearest.
std::vector<std::string> cards_of_series(const std::string& name) {
  constexpr std::size_t kMostModels = 3;
  const auto [series, number] = series_and_number(name);
  std::set<std::pair<int, std::string>> models;
  for (const predictor::Card& card : predictor::known_cards()) {
    const std::string model = predictor::card_model(card.name);
    const auto [letters, other] = series_and_number(model);
    if (!series.empty() && letters == series) {
      models.emplace(std::abs(other - number), model);
    }
  }
  std::vector<std::string> names;
  for (const auto& [distance, model] : models) {
    if (names.size() < kMostModels) {
      names.push_back(model);
    }
  }
  return names;
}

/// Returns the names of the cards that an unknown name may mean.
std::vector<std::string> cards_near(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char letter) {
    return static_cast<char>(std::toupper(letter));
  });
  std::vector<std::string> models;
  std::ranges::transform(predictor::known_cards(), std::back_inserter(models),
                         predictor::card_model, &predictor::Card::name);
  const std::string model = et_schema::nearest_word(name, models);
  std::vector<std::string> names = cards_of_series(name);
  if (!names.empty()) {
    return names;
  }
  for (std::size_t i = 0; i < models.size() && !model.empty(); ++i) {
    if (models[i] == model) {
      names.push_back(predictor::known_cards()[i].name);
    }
  }
  return names;
}

}  // namespace

predictor::Card card_named(const std::string& name_or_file, const std::string& flag) {
  const fs::path file = name_or_file;
  std::error_code error;
  // A file of the current folder does not take the place of a card: ./H100, card.json.
  if ((file.has_parent_path() || file.has_extension()) && fs::exists(file, error)) {
    const std::vector<predictor::Card> cards = predictor::read_cards(name_or_file);
    refuse_if(cards.size() != 1, flag + " takes one card", flag, "a card's JSON file",
              fmt::format("a folder of {}", cards.size()));
    return cards.front();
  }
  const std::vector<const predictor::Card*> alike = predictor::cards_like(name_or_file);
  if (alike.size() == 1) {
    return *alike.front();
  }
  std::vector<std::string> names = cards_near(name_or_file);
  if (!alike.empty()) {
    names.clear();
    std::ranges::transform(alike, std::back_inserter(names), &predictor::Card::name);
  }
  throw et_schema::usage_error(
      alike.empty() ? "no such card" : "several such cards",
      {.field = flag,
       .expected =
           fmt::format("{}, or a card's JSON file",
                       names.empty() ? "a known card" : fmt::format("{}", fmt::join(names, ", "))),
       .got = name_or_file,
       .hint = "understudy predict --card list names all; docs/formats.md, \"Cards\", tells what "
               "stands in a file of another card"});
}

ChosenPlatform choose_platform(const std::string& file, const std::string& asked) {
  if (asked.empty()) {
    return {predictor::read_platform(file), file, ""};
  }
  if (file.empty()) {
    predictor::Card card = card_named(asked, "--card");
    ChosenPlatform chosen = shipped_platform(card);
    chosen.platform.operators.add_card(std::move(card));
    return chosen;
  }
  ChosenPlatform chosen{predictor::read_platform(file), file, asked};
  const predictor::OperatorModels& models = chosen.platform.operators;
  const bool is_measured = std::ranges::any_of(
      models.devices(), [&](const auto& measured) { return measured.first.device == asked; });
  if (!is_measured && models.find_card(asked) == nullptr) {
    predictor::Card card = card_named(asked, "--card");
    chosen.device = card.name;
    chosen.platform.operators.add_card(std::move(card));
  }
  return chosen;
}

}  // namespace understudy::cli
