#pragma once

#include "predictor/calls/card.h"

namespace understudy::predictor {

/// The share of a card's bandwidth at which kernels of large tensors read and write in a step.
inline constexpr double kCopyShare = 0.8;

/// Returns the share of a card's peaks that products sustain in a step, which runs for seconds at
/// the power limit. Known are cards of which whole steps were published; others have the share of
/// the most similar one. 1 if the card has no peak of bfloat16.
[[nodiscard]] double sustained_share(const Card& card);

}  // namespace understudy::predictor
