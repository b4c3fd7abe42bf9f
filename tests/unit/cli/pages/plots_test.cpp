#include "cli/pages/plots/plots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tags.h"

namespace understudy::pages {
namespace {

std::size_t count_of(const std::string& html, const std::string& sought) {
  std::size_t count = 0;
  for (std::size_t at = html.find(sought); at != std::string::npos;
       at = html.find(sought, at + 1)) {
    ++count;
  }
  return count;
}

TEST(Histogram, OfNoSamplesIsNothing) {
  EXPECT_TRUE(histogram({"Times.", "ms", {{"a", {}, {}, {}}}}).empty());
  EXPECT_TRUE(histogram({"Times.", "ms", {{"a", {NAN, HUGE_VAL}, {}, {}}}}).empty());
}

TEST(Histogram, TellsHowManySamplesAreNotDrawn) {
  std::vector<double> samples;
  for (int i = 0; i < 100; ++i) {
    samples.push_back(10 + 0.01 * i);
  }
  samples.push_back(500);
  const std::string html = histogram({"Times.", "ms", {{"a", samples, {}, {}}}}).html();
  EXPECT_NE(html.find("Times. One sample lies farther out and is not drawn."), std::string::npos);
  EXPECT_NE(html.find("a: 101 samples from 10.00 to 500.0 ms, median 10.50."), std::string::npos);
}

TEST(Histogram, CountsEverySampleOnce) {
  const std::string html =
      histogram({"Times.", "ms", {{"a", {1, 2, 3, 4, 5, 6, 7, 8}, {}, {}}}}).html();
  std::size_t sum = 0;
  const std::string before = "<title>a: ";
  for (std::size_t at = html.find(before); at != std::string::npos;
       at = html.find(before, at + 1)) {
    sum += std::stoul(html.substr(at + before.size()));
  }
  EXPECT_EQ(sum, 8);
}

TEST(Histogram, OfEqualSamplesHasOneBar) {
  const std::string html = histogram({"Times.", "ms", {{"a", {2, 2, 2}, {}, {}}}}).html();
  EXPECT_NE(html.find("a: 3 of 3 from 2.000"), std::string::npos);
}

TEST(Bars, SayWhatIsNotKnown) {
  const std::string html =
      bars({"Classes.", "ms", {"replay", "recorded"}, {{"matmul", {2.5, std::nullopt}}}}).html();
  EXPECT_NE(html.find("matmul, recorded: not known"), std::string::npos);
  EXPECT_NE(html.find("matmul, replay: 2.500 ms"), std::string::npos);
}

TEST(Bars, OfNothingAboveZeroAreNothing) {
  EXPECT_TRUE(bars({"Classes.", "ms", {"replay"}, {}}).empty());
  EXPECT_TRUE(bars({"Classes.", "ms", {"replay"}, {{"a", {0.0}}}}).empty());
}

TEST(IntervalsPlot, OfAWideIntervalEndInArrows) {
  const Intervals narrow{"Ratios.", "", 1.0, {{"a", 1.1, 1.08, 1.12}}};
  Intervals wide = narrow;
  wide.rows.push_back({"b", 1.0, 0.001, 1e9});
  EXPECT_EQ(count_of(intervals(narrow).html(), "class=\"whisker"), 1);
  EXPECT_EQ(count_of(intervals(wide).html(), "class=\"whisker"), 6);  // two arrows of two strokes
}

TEST(IntervalsPlot, NotesHaveRoomInThePicture) {
  const std::string note = "75.652 UNSURE (few samples)";
  const std::string html =
      intervals({"Ratios.", "", 1.0, {{"a", 1.1, 1.08, 1.12, Tone::kNeutral, note}}}).html();
  const std::size_t text = html.find(">" + note + "<");
  ASSERT_NE(text, std::string::npos) << html;
  const double x = std::stod(html.substr(html.rfind("x=\"", text) + 3));
  constexpr double kLetter = 7;  // of 13 px
  EXPECT_LE(x + kLetter * static_cast<double>(note.size()), 900) << html;
}

TEST(IntervalsPlot, LeaveOutWhatIsNotFinite) {
  EXPECT_TRUE(intervals({"Ratios.", "", 1.0, {{"a", NAN, 0, 1}}}).empty());
}

Series series_of(std::vector<std::optional<double>> values) {
  Series plot{.id = "s", .caption = "Values.", .unit = "ms", .place = "night"};
  plot.lines = {{"a", std::move(values)}};
  return plot;
}

TEST(SeriesPlot, OfNothingIsNothing) {
  EXPECT_TRUE(series(series_of({})).empty());
  EXPECT_TRUE(series(series_of({std::nullopt, NAN})).empty());
}

TEST(SeriesPlot, BreaksWhereAValueIsMissing) {
  const std::string html = series(series_of({1, 2, std::nullopt, 3, 4})).html();
  const std::size_t begin = html.find(" d=\"") + 4;
  const std::string path = html.substr(begin, html.find('"', begin) - begin);
  EXPECT_EQ(std::ranges::count(path, 'M'), 2);
  EXPECT_EQ(std::ranges::count(path, 'L'), 2);
}

TEST(SeriesPlot, OfManyValuesKeepsTheirExtremes) {
  std::vector<std::optional<double>> values(100'000, 5.0);
  values[77'777] = 9.0;
  const std::string html = series(series_of(values)).html();
  const std::size_t begin = html.find(" d=\"") + 4;
  const std::string path = html.substr(begin, html.find('"', begin) - begin);
  EXPECT_LT(path.size(), 20'000);
  EXPECT_NE(path.find('V'), std::string::npos);  // the one column that has more than one value
}

TEST(SeriesPlot, HasAllValuesInItsBlock) {
  Series plot = series_of({1.5, std::nullopt, 3});
  plot.places = {"a", "b", "c"};
  plot.marks = {{2, "slower", Tone::kBad}};
  const auto block = nlohmann::json::parse(block_of(series(plot).html(), "s-series"));
  EXPECT_EQ(block["lines"][0]["values"], nlohmann::json::array({1.5, nullptr, 3}));
  EXPECT_EQ(block["places"], nlohmann::json::array({"a", "b", "c"}));
  EXPECT_EQ(block["marks"][0]["text"], "slower");
}

TEST(SeriesPlot, DescribesItsMarks) {
  Series plot = series_of({1, 2, 3});
  plot.marks = {{2, "50 % longer", Tone::kBad}};
  EXPECT_NE(
      series(plot).html().find("Values. a: 3 values from 1.000 ms to 3.000 ms. 2: 50 % longer."),
      std::string::npos);
}

}  // namespace
}  // namespace understudy::pages
