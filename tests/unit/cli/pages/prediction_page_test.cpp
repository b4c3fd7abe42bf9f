#include "cli/pages/prediction/prediction_page.h"

#include <gtest/gtest.h>

#include "page_samples.h"

namespace understudy::pages {
namespace {

TEST(PredictionPage, SaysHowItIsToTheOriginalAndWithoutTheWhatIfs) {
  et_schema::Prediction prediction = sample_prediction({});
  et_schema::Assessment verdict = prediction_page(prediction, {}, 15).verdict;
  EXPECT_EQ(verdict.sentence,
            "An iteration on 2 ranks of h100 would take 31.25 ms, 90 % within 30.00 to 33.00; "
            "bound by compute.");
  EXPECT_EQ(verdict.findings, (std::vector<std::string>{"0.500 times the original's 62.50 ms",
                                                        "without the what-ifs 40.00 ms: -21.88 %",
                                                        "no model: 1.400 ms in my::op"}));
  prediction.ranks.clear();
  prediction.without_what_if_ms.reset();
  prediction.doubtful.clear();
  prediction.free_host_ms = 20;
  constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;
  prediction.memory = {1, 79 * kGib, 80 * kGib, 10 * kGib, "4.0 GiB half[2] (mm)"};
  prediction.assumptions.emplace_back("host: as recorded");
  verdict = prediction_page(prediction, {}, 15).verdict;
  std::vector<std::string> expected = {
      "with a host that is never late it would take 20.00 ms", "host: as recorded",
      "memory: 79.0 GiB of tensors at the peak, on rank 1; with 1.0 GiB assumed for context and "
      "communicators it fits the card's 80.0 GiB"};
  EXPECT_EQ(verdict.findings, expected);
  ++prediction.memory->peak_bytes;
  EXPECT_EQ(prediction_page(prediction, {}, 15).verdict.findings.back(),
            "memory: 79.0 GiB of tensors at the peak, on rank 1; with 1.0 GiB assumed for context "
            "and communicators it does NOT fit the card's 80.0 GiB. The step begins with 10.0 GiB, "
            "its largest tensor is 4.0 GiB half[2] (mm); a smaller micro-batch or activation "
            "checkpointing would help");
  prediction.memory->before_bytes = 60 * kGib;
  EXPECT_TRUE(prediction_page(prediction, {}, 15)
                  .verdict.findings.back()
                  .ends_with("; sharding of parameters and optimizer, on more ranks, would help"));
  prediction.free_host_ms = 31;
  expected.erase(expected.begin());
  EXPECT_EQ(prediction_page(prediction, {}, 15).verdict.findings.size(), expected.size())
      << "such a host would change nothing";
}

TEST(PredictionPage, ExplainsWhatAQuestionChanges) {
  const et_schema::Prediction prediction = sample_prediction({});
  const std::string text = to_text(prediction_page(prediction, {}, 15));
  EXPECT_NE(text.find("            12      30.00     15.00  matmul x0.5  all of these\n"
                      "            12      30.00     15.00  matmul x0.5  aten::mm\n"),
            std::string::npos)
      << text;
}

TEST(PredictionPage, LeavesOutWhatThereIsNot) {
  const std::string json = to_page_json(prediction_page(sample_prediction({}), {}, 15));
  EXPECT_EQ(json.find("\"id\":\"timeline\""), std::string::npos);
  EXPECT_NE(json.find("\"id\":\"assumed\""), std::string::npos);
}

}  // namespace
}  // namespace understudy::pages
