#include "pages/prediction/prediction_page.h"

#include <gtest/gtest.h>

#include "page_samples.h"

namespace understudy::pages {
namespace {

TEST(PredictionPage, SaysWhetherItWasMeasured) {
  PredictionData data = sample_prediction({});
  EXPECT_EQ(prediction_page(data).verdict,
            "An iteration on h100 would take 31.25 ms (30.00 … 33.00), 0.500 times the original's "
            "62.50 ms; measured there: 30.50 ms, the prediction is +2.5 % off.");
  data.replayed_ms = kUnknown;
  EXPECT_EQ(prediction_page(data).verdict,
            "An iteration on h100 would take 31.25 ms (30.00 … 33.00), 0.500 times the original's "
            "62.50 ms; nobody ran this.");
}

TEST(PredictionPage, WithoutATimeSaysSo) {
  EXPECT_EQ(prediction_page({}).verdict, "No time could be predicted.");
  EXPECT_EQ(prediction_page({}).tone, Tone::kAttention);
}

TEST(PredictionPage, LeavesOutWhatThereIsNot) {
  PredictionData data = sample_prediction({});
  data.timeline.lanes.clear();
  data.collectives.clear();
  const std::string html = to_html(prediction_page(data));
  EXPECT_EQ(html.find("id=\"timeline\""), std::string::npos);
  EXPECT_EQ(html.find("id=\"collectives\""), std::string::npos);
}

}  // namespace
}  // namespace understudy::pages
