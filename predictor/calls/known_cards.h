#pragma once

#include <span>
#include <string>
#include <string_view>

#include "predictor/calls/card.h"

namespace understudy::predictor {

/// Returns the cards whose data sheets ship with Understudy, ordered by name.
[[nodiscard]] std::span<const Card> known_cards();

/// Returns the known card of that name, or the only one whose name contains all words of `name`,
/// ignoring case ("H100"; "AMD Instinct MI300X VF", a virtual function). Null: none or several.
[[nodiscard]] const Card* find_known_card(std::string_view name);

/// Returns the model of a known card that the text names: "A100" of "NVIDIA A100-SXM4-80GB" and of
/// "a100_sxm NCCL 2.27". Empty: none.
[[nodiscard]] std::string card_model(std::string_view text);

/// Returns the card of a file, or a known card. `flag` is the command line's flag, for errors.
/// Throws Error (usage), with a list of the known cards, and as parse_card() does.
[[nodiscard]] Card card_named(const std::string& name_or_file, const std::string& flag);

}  // namespace understudy::predictor
