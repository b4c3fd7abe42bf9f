#include "time_limit.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "forwarding_backend.h"

namespace understudy::replayer::testing {
namespace {

/// Beside ranks whose iterations take as long as the test says.
class Beside : public ForwardingBackend {
 public:
  explicit Beside(std::vector<std::string> others_ms) : others_ms_(std::move(others_ms)) {}
  std::vector<std::string> all_gather_text(const std::string& text) override {
    std::vector<std::string> all = others_ms_;
    all.push_back(text);
    return all;
  }

 private:
  std::vector<std::string> others_ms_;
};

class TimeLimitTest : public ::testing::Test {
 protected:
  double limit_s(double first_iteration_ms, std::vector<std::string> others_ms = {}) {
    Beside job(std::move(others_ms));
    return default_time_limit_s(program_, options_, first_iteration_ms, job);
  }

  et_schema::Program program_;
  ReplayOptions options_;
};

TEST_F(TimeLimitTest, IsAMinuteForFastSteps) {
  EXPECT_EQ(limit_s(0), 60);
  EXPECT_EQ(limit_s(3000), 60);
}

TEST_F(TimeLimitTest, IsTwentyFirstIterations) {
  EXPECT_EQ(limit_s(10'000), 200);
  EXPECT_EQ(limit_s(10'001), 201);
}

TEST_F(TimeLimitTest, IsThatOfTheSlowestRank) {
  EXPECT_EQ(limit_s(10'000, {"5000", "12000.5"}), 241);
  EXPECT_EQ(limit_s(10'000, {"5000", "0"}), 200);
}

TEST_F(TimeLimitTest, HasRoomForTheOriginalsGaps) {
  program_.profile.emplace();
  program_.profile->step_ns = 20'000'000'000;
  EXPECT_EQ(limit_s(10'000), 200);
  options_.pace = Pace::kRecorded;
  EXPECT_EQ(limit_s(10'000), 600);
}

TEST_F(TimeLimitTest, HasRoomForAPlantedSlowdown) {
  options_.slow.emplace();
  options_.slow->percent = 150;
  EXPECT_EQ(limit_s(10'000), 500);
}

}  // namespace
}  // namespace understudy::replayer::testing
