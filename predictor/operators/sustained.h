#pragma once

#include "predictor/calls/call.h"
#include "predictor/calls/card.h"
#include "predictor/work/work.h"

namespace understudy::predictor {

/// The share of a card's bandwidth at which a kernel reads and writes large tensors by itself.
inline constexpr double kCopyShare = 0.8;

/// What a step adds to calls that are timed by themselves, fitted to published steps
/// (docs/results/prediction.md): the same for all cards.
inline constexpr double kCopyShareInStep = 0.6;
/// Of the time in which communication moves: kernels beside it stand still for so long.
inline constexpr double kLostBeside = 0.4;
/// Ranks come to a collective one after the other, by this for each of its steps (traffic.h).
inline constexpr double kLateStepNs = 15'000;

/// Returns the share of a card's peaks that products sustain in a step, which runs for seconds at
/// the power limit. Known are cards of which whole steps were published; others have the share of
/// the most similar one. 1 if the card has no peak of bfloat16.
[[nodiscard]] double sustained_share(const Card& card);

/// Returns the least time of attention by kernels that compute with Ampere's instructions on later
/// cards, too: PyTorch's memory-efficient ones, and those of 2022 and 2023. 0 for others.
[[nodiscard]] double ampere_attention_ns(const OperatorCall& call, const Work& work,
                                         const Card& card);

}  // namespace understudy::predictor
