#include "predictor/calls/card.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "testing/error_text.h"

namespace understudy::predictor {
namespace {

constexpr const char* kText =
    R"({"Device":"Some Card","Dev_Mem":8,"Mem_Bw":192,"Num_Sm":40,"Freq":1000,)"
    R"("SingleFLOPs":5500,"L2Cache":2,"Tf32FLOPs":44000,"FLOPsByDtype":{"float16":11000}})";

std::string card_refusal(std::string_view text) {
  return error_of([&] { return parse_card(text, "c.json"); });
}

TEST(Card, FiguresInTheirUnits) {
  const Card card = parse_card(kText, "c.json");
  EXPECT_EQ(card.name, "Some Card");
  EXPECT_DOUBLE_EQ(card.bandwidth_bytes_per_s, 192e9);
  EXPECT_DOUBLE_EQ(card.l2_bytes, 2.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(peak_flops(card, et_schema::DType::kFloat32), 5.5e12);
  EXPECT_DOUBLE_EQ(peak_flops(card, et_schema::DType::kFloat16), 11e12);
  EXPECT_EQ(card.source, "c.json");
  EXPECT_FALSE(has_peak(card, et_schema::DType::kBFloat16));
  EXPECT_DOUBLE_EQ(most_flops(card, et_schema::DType::kFloat32), 44e12);
  EXPECT_TRUE(std::isinf(most_flops(card, et_schema::DType::kBFloat16)));
}

TEST(Card, WhatIsWrittenReadsBack) {
  const Card card = parse_card(kText, "c.json");
  EXPECT_EQ(parse_card(json_value(card).dump(), "other.json"), card);
}

TEST(Card, RefusesWhatIsMissingOrNoNumber) {
  EXPECT_EQ(card_refusal(R"({"Device":"x","Mem_Bw":0,"Num_Sm":1,"SingleFLOPs":1,"L2Cache":1})"),
            "the card cannot be read\n  file:     c.json\n  field:    Mem_Bw\n  expected: a number "
            "above 0\n  got:      0\n  hint:     docs/formats.md, \"Cards\", lists the keys");
  for (const char* figure : {"1e300", "1e-300"}) {
    const std::string text = std::string(R"({"Device":"x","Mem_Bw":)") + figure +
                             R"(,"Num_Sm":1,"SingleFLOPs":1,"L2Cache":1})";
    EXPECT_NE(card_refusal(text).find("expected: a number from 1e-6 to 1e18"), std::string::npos);
  }
  EXPECT_NE(card_refusal(R"({"Device":"x"})").find("field:    Mem_Bw"), std::string::npos);
  EXPECT_NE(card_refusal("[]").find("the card cannot be read"), std::string::npos);
}

TEST(Card, ThisHostHasCores) {
  const Card card = host_card();
  EXPECT_EQ(card.name, "cpu");
  EXPECT_GE(card.processors, 1);
  EXPECT_EQ(card.flops, 0) << "a host's peaks are measured, never read";
}

}  // namespace
}  // namespace understudy::predictor
