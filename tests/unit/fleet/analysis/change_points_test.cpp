#include "fleet/analysis/change_points.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "et_schema/support/error.h"
#include "fleet/analysis/random.h"

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

std::string otava() {
  return find_otava(std::string(UNDERSTUDY_SOURCE) + "/build/release/bin/fleet");
}

class Otava : public ::testing::Test {
 protected:
  void SetUp() override {
    if (otava().empty()) {
      GTEST_SKIP() << "no .venv-fleet: scripts/setup_fleet makes it";
    }
  }
};

TEST_F(Otava, FindsWhereASeriesTurned) {
  const auto found = change_points({series(15, 1.2, 15), series(30, 1, 0)}, otava());
  ASSERT_EQ(found.size(), 2U);
  ASSERT_EQ(found[0].size(), 1U);
  EXPECT_EQ(found[0][0].index, 15U);
  EXPECT_NEAR(found[0][0].after / found[0][0].before, 1.2, 0.02);
  EXPECT_TRUE(found[1].empty());
}

TEST(ChangePoints, ShortSeriesAreNotLookedAt) {
  const auto found = change_points({{1, 2, 3}, {}}, "/nowhere/python");
  EXPECT_TRUE(found[0].empty());
  EXPECT_TRUE(found[1].empty());
}

TEST(ChangePoints, AnAnswerOfAnotherFormIsSaid) {
  // A program that ends well and answers nothing.
  try {
    static_cast<void>(change_points({series(15, 1, 0)}, "/bin/true"));
    FAIL() << "it found some";
  } catch (const et_schema::Error& error) {
    EXPECT_EQ(et_schema::to_text(error),
              "Otava could not look for change points\n"
              "  file:     /bin/true\n"
              "  expected: points of each series\n"
              "  got:      an answer of another form\n"
              "  hint:     install it there: pip install apache-otava");
  }
}

TEST(ChangePoints, WithoutOtavaItIsSaid) {
  try {
    static_cast<void>(change_points({series(15, 1, 0)}, "/bin/false"));
    FAIL() << "it found some";
  } catch (const et_schema::Error& error) {
    EXPECT_EQ(et_schema::to_text(error),
              "Otava could not look for change points\n"
              "  file:     /bin/false\n"
              "  hint:     install it there: pip install apache-otava");
  }
}

}  // namespace
}  // namespace understudy::fleet
