#include "predictor/operators/sustained.h"

#include <algorithm>

#include "kernel_load.h"
#include "predictor/calls/known_cards.h"
#include "predictor/operators/features.h"
#include "predictor/operators/transfer.h"

namespace understudy::predictor {

double sustained_share(const Card& card) {
  constexpr auto kType = DType::kBFloat16;
  struct Sustained {
    const char* card;
    double share;
  };
  static constexpr Sustained kSustained[] = {
      {"NVIDIA A100-SXM4-80GB", 0.83}, {"NVIDIA H100 80GB HBM3", 0.67}, {"NVIDIA B200", 0.51}};
  const auto octaves = [&card](const Sustained& of) {
    return octaves_between(*find_known_card(of.card), card, kType);
  };
  return has_peak(card, kType) ? std::ranges::min_element(kSustained, {}, octaves)->share : 1;
}

double ampere_attention_ns(const OperatorCall& call, const Work& work, const Card& card) {
  // Of a clock and multiprocessor: the same on A100 and H100. An A100 reaches 0.32 of its peak.
  constexpr double kFlops = 660;
  constexpr double kMostOfPeak = 0.32;
  constexpr double kTokens = 600;  // a sequence of so many takes twice as long as its work
  if (!work.attention || !has_part(call, "efficient_attention")) {
    return 0;
  }
  const double flops = std::min(kFlops * card.processors * card.clock_hz,
                                kMostOfPeak * most_flops(card, compute_dtype(call)));
  return work.flops * (1 + kTokens / work.attention->keys) / flops * kNsPerS;
}

}  // namespace understudy::predictor
