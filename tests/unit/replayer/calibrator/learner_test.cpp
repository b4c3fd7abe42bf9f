// Held-out predictions of an area's quick model.

#include "replayer/calibrator/sweep/learner.h"

#include <gtest/gtest.h>

#include <cmath>

#include "replayer/calibrator/design/halton.h"

namespace understudy::calibrator {
namespace {

TEST(Learner, KnowsNothingAtFirst) {
  EXPECT_EQ(Learner().predict({10, 0, 0.5}), std::nullopt);
}

TEST(Learner, LearnsALatencyAndABandwidth) {
  const Halton halton(1, 3);
  Learner learner;
  const auto time_ns = [](double bytes) { return 2000 + bytes / 5; };
  double sum = 0;
  int judged = 0;
  for (std::uint64_t i = 0; i < 80; ++i) {
    const double u = halton.at(i)[0];
    const double bytes = std::pow(2, 4 + 22 * u);
    const std::vector<double> features = {std::log(1 + bytes), 0, u};
    if (const auto predicted = learner.predict(features); predicted && i > 60) {
      sum += std::abs(*predicted / time_ns(bytes) - 1);
      ++judged;
    }
    learner.add(features, time_ns(bytes));
  }
  EXPECT_EQ(judged, 19);
  EXPECT_LT(sum / judged, 0.08);
}

TEST(Learner, DoesNotPretendToKnowNoise) {
  const Halton halton(1, 3);
  Learner learner;
  double sum = 0;
  int judged = 0;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const double u = halton.at(i)[0];
    const double ns = 1000 * (i % 3 == 0 ? 1 : 4);  // by nothing that it sees
    if (const auto predicted = learner.predict({20 * u, 0, u})) {
      sum += std::abs(*predicted / ns - 1);
      ++judged;
    }
    learner.add({20 * u, 0, u}, ns);
  }
  EXPECT_GT(sum / judged, 0.3);
}

}  // namespace
}  // namespace understudy::calibrator
