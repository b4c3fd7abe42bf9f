#pragma once

#include <string>

#include "common/format.h"

namespace understudy::cli {

/// `predict --from-profile`: a recorded step on a card that nobody ran it on.
struct FromProfileArguments {
  std::string profile;    ///< a Kineto profile
  std::string card;       ///< to predict for: a known card's name, or its file
  std::string from_card;  ///< that the profile is of; empty: the one that it names
  std::string report;     ///< the prediction as JSON; empty: none
  std::size_t top = 12;
  Format format = Format::kText;
  bool quiet = false;
};

/// Prints the prediction, writes the report. The exit status. Throws Error: bad input (no profile,
/// nothing on a device), usage (a card that is not known).
int predict_from_profile(const FromProfileArguments& arguments);

}  // namespace understudy::cli
