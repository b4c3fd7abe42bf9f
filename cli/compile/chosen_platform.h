#pragma once

#include <string>
#include <vector>

#include "predictor/platform/platform.h"

namespace understudy::cli {

/// The platform to predict from.
struct ChosenPlatform {
  predictor::Platform platform;
  std::string file;
  std::string device;  ///< the name of the card, or of the platform's device; empty: none is named
  std::vector<std::string> assumptions = {};
};
/// Reads the file of --platform. Without one, reads the shipped platform of --card's card, or of
/// the nearest one that has one. `asked` is --card. Throws Error (usage) for an unknown card, or if
/// there is no platform.
[[nodiscard]] ChosenPlatform choose_platform(const std::string& file, const std::string& asked);

}  // namespace understudy::cli
