#include "fleet/analysis/change_points.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "fleet/analysis/numerics.h"
#include "testing/error_text.h"

namespace understudy::fleet {
namespace {

std::vector<double> series(std::size_t before, double factor, std::size_t after) {
  Random random(5);
  std::vector<double> figures;
  for (std::size_t i = 0; i < before + after; ++i) {
    figures.push_back(10 * (i < before ? 1 : factor) * (1 + 0.01 * random.normal()));
  }
  return figures;
}

class Otava : public ::testing::Test {
 protected:
  void SetUp() override {
    if (find_otava().empty()) {
      GTEST_SKIP() << "no .venv-fleet: scripts/setup_fleet makes it";
    }
  }
};

TEST_F(Otava, FindsWhereASeriesTurned) {
  const auto found = change_points({series(15, 1.2, 15), series(30, 1, 0)}, find_otava());
  ASSERT_EQ(found.size(), 2U);
  ASSERT_EQ(found[0].size(), 1U);
  EXPECT_EQ(found[0][0].index, 15U);
  EXPECT_NEAR(found[0][0].after / found[0][0].before, 1.2, 0.02);
  EXPECT_TRUE(found[1].empty());
}

/// A series of levels (length, figure) and the change points between them.
struct Steps {
  explicit Steps(const std::vector<std::pair<std::size_t, double>>& levels) {
    for (const auto& [length, figure] : levels) {
      if (!series.empty()) {
        points.push_back({.index = series.size()});
      }
      series.insert(series.end(), length, figure);
    }
  }
  [[nodiscard]] std::string lasting_ones() const {
    std::string text;
    for (const ChangePoint& point : lasting(points, series, {})) {
      text += fmt::format("{}: {} to {}; ", point.index, point.before, point.after);
    }
    return text;
  }
  std::vector<double> series;
  std::vector<ChangePoint> points;
};

TEST(ChangePoints, LevelsThatLastStay) {
  EXPECT_EQ(Steps({{10, 100}, {3, 120}}).lasting_ones(), "10: 100 to 120; ");
  EXPECT_EQ(Steps({{10, 100}, {2, 120}}).lasting_ones(), "") << "two figures are no level yet";
  EXPECT_EQ(Steps({{10, 100}, {3, 120}, {7, 100}}).lasting_ones(),
            "10: 100 to 120; 13: 120 to 100; ");
  EXPECT_EQ(Steps({{10, 100}, {2, 120}, {8, 101}}).lasting_ones(), "") << "an outlier of two";
  EXPECT_EQ(Steps({{10, 100}, {1, 130}, {9, 110}}).lasting_ones(), "10: 100 to 110; ")
      << "a step that begins with an outlier";
  EXPECT_EQ(Steps({{5, 90}, {5, 100}, {1, 120}, {9, 101}}).lasting_ones(), "5: 90 to 101; ")
      << "the outlier goes, the step before it stays";
  EXPECT_EQ(Steps({{20, 100}}).lasting_ones(), "");
  // Otava draws some ends a night too wide.
  EXPECT_EQ(
      lasting({{.index = 2}, {.index = 5}}, {100, 100, 100, 150, 100, 100, 100, 100}, {}).size(),
      0U);
}

TEST(ChangePoints, ShortSeriesAreNotLookedAt) {
  const auto found = change_points({{1, 2, 3}, {}}, "/nowhere/python");
  EXPECT_TRUE(found[0].empty());
  EXPECT_TRUE(found[1].empty());
}

/// What is said of a program that is no Python with Otava.
std::string refusal(const std::string& program) {
  return error_of([&] { return change_points({series(15, 1, 0)}, program); });
}

TEST(ChangePoints, AnAnswerOfAnotherFormIsSaid) {
  // A program that ends well and answers nothing.
  EXPECT_EQ(refusal("/bin/true"),
            "Otava could not look for change points\n"
            "  file:     /bin/true\n"
            "  expected: points of each series\n"
            "  got:      an answer of another form\n"
            "  hint:     install it there: pip install apache-otava");
}

TEST(ChangePoints, WithoutOtavaItIsSaid) {
  EXPECT_EQ(refusal("/bin/false"),
            "Otava could not look for change points\n"
            "  file:     /bin/false\n"
            "  hint:     install it there: pip install apache-otava");
}

TEST(ClassChanges, TheClassesThatTheChangeIsInAreNamed) {
  std::vector<ClassTimes> nights(8, {{"matmul", 40}, {"norm", 5}, {"optimizer", 10}});
  nights[1]["norm"] = 90;  // one night is none of the level
  for (std::size_t i = 5; i < nights.size(); ++i) {
    nights[i] = {{"matmul", 60}, {"norm", 5.5}, {"optimizer", 2}, {"copies", 9}};
  }
  const ChangePoint point{.index = 5, .before = 55, .after = 76.5};
  const std::vector<ClassChange> slower = class_changes(nights, point);
  ASSERT_EQ(slower.size(), 2U);
  EXPECT_EQ(slower[0].name, "matmul");
  EXPECT_DOUBLE_EQ(slower[0].ms, 20);
  EXPECT_EQ(slower[1].name, "copies");
  EXPECT_DOUBLE_EQ(slower[1].ms, 9);
  const std::vector<ClassChange> faster =
      class_changes(nights, {.index = 5, .before = 76.5, .after = 55});
  ASSERT_EQ(faster.size(), 1U);
  EXPECT_EQ(faster[0].name, "optimizer");
  EXPECT_DOUBLE_EQ(faster[0].ms, -8);
}

}  // namespace
}  // namespace understudy::fleet
