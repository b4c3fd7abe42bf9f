// Whose call is next, and when an operator has no more.

#include "replayer/calibrator/design/rotation.h"

#include <gtest/gtest.h>

#include <map>

namespace understudy::calibrator {
namespace {

constexpr Recipe kSort{"aten::sort", "r:1..1024 c:1..1024", "{r,c}"};
constexpr Recipe kHeavy{.op = "aten::mm",
                        .dims = "m:1..64 k:1..64 n:1..64",
                        .args = "{m,k} {k,n}",
                        .work = "m*k*n",
                        .weight = 3};
constexpr Recipe kTiny{"aten::item", "n:1..4", "{n}"};

Rotation rotation_of(std::initializer_list<Recipe> recipes) {
  std::vector<Area> areas;
  for (const Recipe& recipe : recipes) {
    areas.emplace_back(recipe, CallLimits());
  }
  return Rotation(std::move(areas));
}

/// Takes up to `most` calls, of which those of `refused` fail. Returns how many it took, by
/// operator.
std::map<std::string, int> take(Rotation& rotation, int most, double seconds_a_call,
                                const std::string& refused = "") {
  std::map<std::string, int> taken;
  for (int i = 0; i < most; ++i) {
    const std::optional<Call> call = rotation.next();
    if (!call) {
      break;
    }
    ++taken[call->schema];
    rotation.add(call->schema != refused, seconds_a_call);
  }
  return taken;
}

TEST(Rotation, TheTimeIsSharedByWeight) {
  for (const double seconds_a_call : {1.0, 0.0}) {  // 0: they were measured before
    Rotation rotation = rotation_of({kSort, kHeavy});
    EXPECT_NEAR(take(rotation, 80, seconds_a_call)["aten::mm"], 60, 2);
    EXPECT_EQ(rotation.counts()[0].timed + rotation.counts()[1].timed, 80U);
    EXPECT_NEAR(rotation.counts()[1].spent_s, 60 * seconds_a_call, 2);
  }
}

TEST(Rotation, AnOperatorWhoseFirstCallsAllFailIsGivenUp) {
  Rotation rotation = rotation_of({kSort, kHeavy});
  EXPECT_EQ(take(rotation, 30, 1, "aten::sort")["aten::mm"], 24);
  EXPECT_EQ(rotation.counts()[0].refused, 6U);
  EXPECT_EQ(rotation.counts()[0].timed, 0U);
}

TEST(Rotation, ACallIsGivenOnceHoweverOftenItIsDrawn) {
  Rotation rotation = rotation_of({kTiny});
  EXPECT_EQ(take(rotation, 1000, 1)["aten::item"], 12);  // four sizes, three element types
  EXPECT_FALSE(rotation.next().has_value());
}

}  // namespace
}  // namespace understudy::calibrator
