#include "cli/pages/plots/timeline.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tags.h"

namespace understudy::pages {
namespace {

Timeline sample() {
  Timeline plot;
  plot.id = "t";
  plot.caption = "A step.";
  plot.names = {"aten::mm", "allreduce"};
  plot.kinds = {"matmul", "communication"};
  // Not in order, and overlapping: 0 … 3 and 5 … 6 ms are busy.
  plot.lanes = {
      {"rank 0",
       "thread 1",
       {{5'000'000, 1'000'000, 0, 0}, {0, 2'000'000, 0, 0}, {1'000'000, 2'000'000, 1, 1}}}};
  return plot;
}

TEST(TimelineMarkup, CountsBusyTimeOnce) {
  const std::string html = timeline(sample()).html();
  EXPECT_NE(html.find("rank 0, thread 1</th><td class=\"n\">3</td><td class=\"n\">4.000</td>"
                      "<td class=\"n\">66.7 %</td>"),
            std::string::npos);
}

TEST(TimelineMarkup, HasItsEventsInOrder) {
  const auto block = nlohmann::json::parse(block_of(timeline(sample()).html(), "t-timeline"));
  EXPECT_EQ(block["begin"], 0);
  EXPECT_EQ(block["end"], 6'000'000);
  EXPECT_EQ(block["lanes"][0]["events"],
            nlohmann::json::array(
                {0, 2'000'000, 0, 0, 1'000'000, 2'000'000, 1, 1, 5'000'000, 1'000'000, 0, 0}));
}

TEST(TimelineMarkup, OfNoEventsIsNothing) {
  Timeline plot = sample();
  plot.lanes[0].events.clear();
  EXPECT_TRUE(timeline(plot).empty());
}

TEST(TextNumbers, AreGivenOnce) {
  TextNumbers numbers;
  EXPECT_EQ(numbers.number_of("a"), 0);
  EXPECT_EQ(numbers.number_of("b"), 1);
  EXPECT_EQ(numbers.number_of("a"), 0);
  EXPECT_EQ(numbers.texts(), (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace understudy::pages
