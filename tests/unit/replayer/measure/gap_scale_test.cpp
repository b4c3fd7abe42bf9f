#include "gap_scale.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "replayer/run/host_probe.h"
#include "testing/error_text.h"

namespace understudy::replayer {
namespace {

TEST(GapScale, FollowsTheHostsProbe) {
  std::vector<double> probes = {200, 200, 900, 200, 400, 400, 400};
  std::size_t next = 0;
  const auto probe = [&] { return probes[next++]; };
  GapScale scale(100, {Pace::Kind::kHost, 1}, probe);
  EXPECT_EQ(scale.next(), 2.0);
  EXPECT_EQ(scale.next(), 2.0);
  EXPECT_EQ(scale.next(), 2.0) << "one interruption is not the host's speed";
  scale.begin_measuring();
  EXPECT_EQ(scale.next(), 2.0);
  EXPECT_EQ(scale.next(), 2.0);
  EXPECT_EQ(scale.next(), 4.0);
  EXPECT_EQ(scale.next(), 4.0);
  et_schema::PaceUse use;
  scale.report(use);
  EXPECT_EQ(use.recorded_probe_us, 100.0);
  EXPECT_EQ(use.probe_us, 400.0);
  EXPECT_EQ(use.gap_factor, 3.0);
}

TEST(GapScale, OtherPacesOnlyLookAtIt) {
  GapScale scale(100, {Pace::Kind::kScaled, 0.5}, [] { return 300.0; });
  EXPECT_EQ(scale.next(), 0.5);
  et_schema::PaceUse use;
  scale.report(use);
  EXPECT_EQ(use.probe_us, 300.0);
  EXPECT_EQ(use.gap_factor, 0.5);
}

TEST(GapScale, IsNoneWithoutAComparableProbe) {
  et_schema::RecordedProfile profile;
  EXPECT_EQ(GapScale::make(profile, {Pace::Kind::kRecorded, 1}), nullptr);
  profile.host_probe = {"torchscript-1 1.0.0", 100};
  EXPECT_EQ(GapScale::make(profile, {Pace::Kind::kRecorded, 1}), nullptr);
  profile.host_probe->kind = HostProbe::kind();
  const auto scale = GapScale::make(profile, {Pace::Kind::kRecorded, 1});
  ASSERT_NE(scale, nullptr);
  EXPECT_EQ(scale->next(), 1.0);
}

std::string refusal_of(const et_schema::Program& program, const Pace& pace) {
  return testing_errors::error_of([&] { return check_pace(program, pace); });
}

TEST(CheckPace, SaysWhatTheBenchmarkLacks) {
  const Pace host{Pace::Kind::kHost, 1};
  et_schema::Program program;
  EXPECT_EQ(refusal_of(program, {}), "no error");
  program.profile.emplace();
  EXPECT_EQ(refusal_of(program, {Pace::Kind::kRecorded, 1}), "no error");
  EXPECT_EQ(refusal_of(program, host),
            "the benchmark does not say how fast the original's host was\n"
            "  field:    --pace\n"
            "  expected: recorded, or a benchmark of a capture that holds host probes\n"
            "  got:      host\n"
            "  hint:     Capture again with scripts/capture, which records them, or take --pace "
            "recorded.");
  program.profile->host_probe = {"torchscript-1 1.0.0", 100};
  EXPECT_EQ(
      refusal_of(program, host),
      "the original's host was probed with another program\n"
      "  field:    --pace\n"
      "  expected: host probes of kind " +
          HostProbe::kind() +
          "\n"
          "  got:      torchscript-1 1.0.0\n"
          "  hint:     Replay with the LibTorch of the capture, capture again with this one, or "
          "take --pace recorded.");
  program.profile->host_probe->kind = HostProbe::kind();
  EXPECT_EQ(refusal_of(program, host), "no error");
}

}  // namespace
}  // namespace understudy::replayer
