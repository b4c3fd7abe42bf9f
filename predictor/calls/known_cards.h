#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/recorded_device.h"
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

/// Returns the known card that the device is the whole of. Null: none; also for a part of one, and
/// for another model of its name, which have other multiprocessors or another memory.
[[nodiscard]] const Card* find_known_card(const et_schema::RecordedDevice& device);

/// Returns the name of that card; else the device's own, with its figures if a known card has that
/// name. Empty: unknown.
[[nodiscard]] std::string recorded_card_name(const et_schema::RecordedDevice& device);

/// Returns the model of a known card that the text names: "A100" of "NVIDIA A100-SXM4-80GB" and of
/// "a100_sxm NCCL 2.27". Empty: none.
[[nodiscard]] std::string card_model(std::string_view text);

}  // namespace understudy::predictor
