#include "predictor/operators/sustained.h"

#include <algorithm>

#include "predictor/calls/known_cards.h"
#include "predictor/operators/transfer.h"

namespace understudy::predictor {

double sustained_share(const Card& card) {
  constexpr auto kType = DType::kBFloat16;
  struct Sustained {
    const char* card;
    double share;
  };
  static constexpr Sustained kSustained[] = {
      {"NVIDIA A100-SXM4-80GB", 0.75}, {"NVIDIA H100 80GB HBM3", 0.54}, {"NVIDIA B200", 0.5}};
  const auto octaves = [&card](const Sustained& of) {
    return octaves_between(*find_known_card(of.card), card, kType);
  };
  return has_peak(card, kType) ? std::ranges::min_element(kSustained, {}, octaves)->share : 1;
}

}  // namespace understudy::predictor
