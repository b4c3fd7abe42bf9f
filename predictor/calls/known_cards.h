#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "predictor/calls/card.h"

namespace understudy::predictor {

/// Returns the cards whose data sheets ship with Understudy, ordered by name.
[[nodiscard]] std::span<const Card> known_cards();

/// Returns the known card of that name, or those whose names contain all words of `name` or all of
/// whose words it contains, ignoring case, spaces and dashes ("RTX4090"; "AMD Instinct MI300X VF",
/// a virtual function).
[[nodiscard]] std::vector<const Card*> cards_like(std::string_view name);

/// Returns the only one of them. Null: none or several.
[[nodiscard]] const Card* find_known_card(std::string_view name);

/// Returns the model of a known card that the text names: "A100" of "NVIDIA A100-SXM4-80GB" and of
/// "a100_sxm NCCL 2.27". Empty: none.
[[nodiscard]] std::string card_model(std::string_view text);

}  // namespace understudy::predictor
