#pragma once

#include <span>
#include <string>
#include <string_view>

#include "predictor/calls/card.h"

namespace understudy::predictor {

/// The cards whose data sheets come with Understudy, in order of names.
[[nodiscard]] std::span<const Card> known_cards();

/// The known card of that name, or the only one whose name holds all of its words in any case
/// ("H100", "AMD Instinct MI300X VF" of a virtual function). Null: none, or several.
[[nodiscard]] const Card* find_known_card(std::string_view name);

/// A card's file, or else a known card. Throws Error: usage, which lists the known ones; bad input,
/// by parse_card(). `flag` is what the user gave it to.
[[nodiscard]] Card card_named(const std::string& name_or_file, const std::string& flag);

}  // namespace understudy::predictor
