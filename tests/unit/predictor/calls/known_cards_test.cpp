#include "predictor/calls/known_cards.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace understudy::predictor {
namespace {

std::string name_of(const Card* card) {
  return card == nullptr ? "none" : card->name;
}

TEST(KnownCards, AreFoundByWordsOfTheirNames) {
  EXPECT_EQ(name_of(find_known_card("h100")), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(name_of(find_known_card("NVIDIA H100 80GB HBM3")), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(name_of(find_known_card("AMD Instinct MI300X VF")), "AMD Instinct MI300X");
  EXPECT_EQ(name_of(find_known_card("NVIDIA H100")), "NVIDIA H100 80GB HBM3") << "of three";
  EXPECT_EQ(name_of(find_known_card("H100 PCIe")), "NVIDIA H100 PCIe");
  EXPECT_EQ(name_of(find_known_card("A100-SXM4-40GB")), "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(name_of(find_known_card("A10")), "NVIDIA A10");
  EXPECT_EQ(name_of(find_known_card("A100")), "NVIDIA A100-SXM4-80GB") << "of four";
  EXPECT_EQ(name_of(find_known_card("NVIDIA A100-PG509-200")), "none");
  EXPECT_EQ(name_of(find_known_card("RTX4090")), "NVIDIA GeForce RTX 4090");
  EXPECT_EQ(name_of(find_known_card("a-100 sxm4 40 gb")), "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(name_of(find_known_card("H10")), "none");
  EXPECT_EQ(name_of(find_known_card("")), "none");
  EXPECT_EQ(name_of(find_known_card("-")), "none");
}

TEST(KnownCards, AreRecognisedByTheirModel) {
  EXPECT_EQ(card_model("NVIDIA A100-SXM4-80GB"), "A100");
  EXPECT_EQ(card_model("a100_sxm NCCL 2.27.3"), "A100");
  EXPECT_EQ(card_model("node8_mi300x.log"), "MI300X");
  EXPECT_EQ(card_model("all_reduce_perf.n16.txt"), "");
  EXPECT_EQ(card_model(""), "");
}

TEST(KnownCards, HaveWhatModelsNeed) {
  EXPECT_TRUE(std::ranges::is_sorted(known_cards(), {}, &Card::name));
  for (const Card& card : known_cards()) {
    EXPECT_GT(card.bandwidth_bytes_per_s, 1e11) << card.name;
    EXPECT_GT(card.flops, 1e12) << card.name;
    EXPECT_GT(card.processors, 10) << card.name;
    EXPECT_GT(card.l2_bytes, 1e6) << card.name;
    EXPECT_GT(card.clock_hz, 1e9) << card.name;
  }
}

}  // namespace
}  // namespace understudy::predictor
