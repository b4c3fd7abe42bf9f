#pragma once

#include <string>
#include <vector>

#include "predictor/platform/platform.h"

namespace understudy::cli {

/// Returns the card of a file, or a known card. `flag` is the command line's flag, for errors.
/// Throws Error (usage), with the cards that may be meant, and as predictor::read_cards() does.
[[nodiscard]] predictor::Card card_named(const std::string& name_or_file, const std::string& flag);

/// The platform to predict from.
struct ChosenPlatform {
  predictor::Platform platform;
  std::string file;
  std::string device;  ///< the name of the card, or of the platform's device; empty: none is named
  std::vector<std::string> assumptions = {};
};
/// Reads `file`, the value of --platform. If it is empty, reads the platform that ships for the
/// card `asked`, the value of --card; if none ships for it, that of the most similar card. Throws
/// Error (usage) if the card is unknown or no platform ships.
[[nodiscard]] ChosenPlatform choose_platform(const std::string& file, const std::string& asked);

}  // namespace understudy::cli
