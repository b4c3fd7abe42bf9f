#include "cli/pages/prediction/prediction_page.h"

#include <gtest/gtest.h>

#include "page_samples.h"

namespace understudy::pages {
namespace {

TEST(PredictionPage, SaysHowItIsToTheOriginalAndWithoutTheWhatIfs) {
  et_schema::Prediction prediction = sample_prediction({});
  EXPECT_EQ(prediction_page(prediction, {}, {}).verdict.sentence,
            "An iteration on 2 ranks of h100 would take 31.25 ms, 90 % within 30.00 to 33.00; "
            "bound by compute; 0.500 times the original's 62.50 ms; without the what-ifs 40.00 ms: "
            "-21.88 %; no model: 1.400 ms in my::op; nobody ran this.");
  prediction.ranks.clear();
  prediction.without_what_if_ms.reset();
  prediction.free_host_ms = 20;
  EXPECT_EQ(
      prediction_page(prediction, {}, {}).verdict.sentence,
      "An iteration on 2 ranks of h100 would take 31.25 ms, 90 % within 30.00 to 33.00; "
      "bound by compute; 20.00 ms with a host that is never late; no model: 1.400 ms in my::op; "
      "nobody ran this.");
}

TEST(PredictionPage, ExplainsWhatAQuestionChanges) {
  const et_schema::Prediction prediction = sample_prediction({});
  const std::string text = to_text(prediction_page(prediction, {}, {.explain = true}));
  EXPECT_NE(text.find("            12      30.00     15.00  matmul x0.5  all of these\n"
                      "            12      30.00     15.00  matmul x0.5  aten::mm\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(to_text(prediction_page(prediction, {}, {})).find("matmul x0.5  aten::mm"),
            std::string::npos);
}

TEST(PredictionPage, LeavesOutWhatThereIsNot) {
  const std::string json = to_page_json(prediction_page(sample_prediction({}), {}, {}));
  EXPECT_EQ(json.find("\"id\":\"timeline\""), std::string::npos);
  EXPECT_NE(json.find("\"id\":\"assumed\""), std::string::npos);
}

}  // namespace
}  // namespace understudy::pages
