#include "predictor/overheads/observe_overlap.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace understudy::predictor {
namespace {

using Reasons = std::map<std::string, std::uint64_t>;

/// Writes a Kineto profile: work of devices, and the calls that launched it, in the same order.
class MadeProfile {
 public:
  explicit MadeProfile(int rank = 0, bool has_sizes = true) : rank_(rank), has_sizes_(has_sizes) {}

  /// `size`: of the operator's input; the kernel's grid is one more.
  void kernel(int size, double start_us, double us, int stream = 7, int device = 0) {
    work("gemm", fmt::format(R"("grid":[{},1,1],"block":[128,1,1])", size + 1), start_us, us,
         stream, device, size);
  }

  /// One whose grid is always the same, in an operator that is always called alike.
  void nested_kernel(int size, double start_us, double us) {
    events_ += events_.empty() ? "" : ",";
    events_ += fmt::format(
        R"({{"ph":"X","cat":"cpu_op","name":"aten::outer","pid":1,"tid":1,"ts":{},"dur":2,)"
        R"("args":{{"Input Dims":[[99]]}}}})",
        start_us - 1.5);
    work("gemm", R"("grid":[1,1,1],"block":[128,1,1])", start_us, us, 7, 0, size);
  }

  /// An all-reduce of so many elements.
  void comm(int elements, double start_us, double us, int ranks = 2) {
    work("ncclDevKernel_AllReduce",
         fmt::format(R"("Collective name":"allreduce","In msg nelems":{0},"Out msg nelems":{0},)"
                     R"("Group size":{1},"dtype":"Float","Process Group Name":"0")",
                     elements, ranks),
         start_us, us, 20, 0, elements);
  }

  /// Communication of a profile that does not name it.
  void unnamed_comm(int size, double start_us, double us) {
    work("ncclKernel_AllReduce_RING_LL_Sum_float", R"("grid":[8,1,1],"block":[512,1,1])", start_us,
         us, 20, 0, size);
  }

  void step(double start_us) {
    events_ += events_.empty() ? "" : ",";
    events_ += fmt::format(
        R"({{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}","pid":1,"tid":1,"ts":{},)"
        R"("dur":9900}})",
        ++steps_, start_us);
  }

  [[nodiscard]] et_schema::Profile parsed(const std::string& card = "GPU A") const {
    return et_schema::parse_kineto(
        fmt::format(R"({{"schemaVersion":1,"deviceProperties":[{{"id":0,"name":"{0}"}},)"
                    R"({{"id":1,"name":"{0}"}}],"distributedInfo":{{"backend":"nccl","rank":{1},)"
                    R"("world_size":2}},"traceEvents":[{2}]}})",
                    card, rank_, events_),
        fmt::format("traces/rank{}.json", rank_), et_schema::KinetoDetail::kShapes);
  }

 private:
  /// Launched a microsecond before, by an operator of its own.
  void work(const std::string& name, const std::string& arguments, double start_us, double us,
            int stream, int device, int size) {
    ++correlation_;
    const std::string sizes = has_sizes_ ? fmt::format(R"("Input Dims":[[{}]])", size) : "";
    events_ += events_.empty() ? "" : ",";
    events_ += fmt::format(
        R"({{"ph":"X","cat":"cpu_op","name":"aten::op","pid":1,"tid":1,"ts":{0},"dur":0.5,)"
        R"("args":{{{1}}}}},)"
        R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{0},)"
        R"("dur":0.25,"args":{{"correlation":{2}}}}},)"
        R"({{"ph":"X","cat":"kernel","name":"{3}","pid":{4},"tid":{5},"ts":{6},"dur":{7},)"
        R"("args":{{"correlation":{2},{8}}}}})",
        start_us - 1, sizes, correlation_, name, device, stream, start_us, us, arguments);
  }

  std::string events_;
  int rank_;
  bool has_sizes_;
  int correlation_ = 0;
  int steps_ = 0;
};

ObservedOverlap observed(const std::vector<MadeProfile>& profiles) {
  std::vector<ProfiledDevice> devices;
  for (const MadeProfile& profile : profiles) {
    std::ranges::move(profiled_devices(profile.parsed()), std::back_inserter(devices));
  }
  return observed_overlap(devices);
}

/// The one device; without factors where there is another number of them.
DeviceOverlap only(const ObservedOverlap& found) {
  EXPECT_EQ(found.devices.size(), 1U);
  return found.devices.size() == 1 ? found.devices.front() : DeviceOverlap();
}

double compute_factor(const ObservedOverlap& found) {
  return only(found).compute.value_or(OverlapFactor{.factor = -1}).factor;
}

constexpr int kSizes = 8;

/// Eight kernels alone, then each beside an all-reduce, `factor` times as long; the all-reduces all
/// take 1000 us.
void add_known_factor(MadeProfile& profile, double factor, int device = 0) {
  for (int size = 1; size <= kSizes; ++size) {
    const double us = 100 + 20 * size;
    profile.kernel(size, 2000.125 * size, us, 7, device);
    profile.kernel(size, 2000 * size + 300, us, 7, device);
    profile.comm(64, 2000 * size + 900, 1000);
    profile.kernel(size, 2000 * size + 1000, factor * us, 7, device);
  }
}

TEST(ObserveOverlap, AKnownFactorIsFound) {
  MadeProfile profile;
  add_known_factor(profile, 1.5);
  const ObservedOverlap found = observed({profile});
  ASSERT_EQ(found.devices.size(), 1U);
  const DeviceOverlap device = only(found);
  EXPECT_EQ(device.device, "GPU A");
  EXPECT_EQ(device.sources, (std::vector<std::string>{"rank0.json"}));
  ASSERT_TRUE(device.compute);
  EXPECT_NEAR(device.compute->factor, 1.5, 1e-9);
  EXPECT_NEAR(device.compute->low, 1.5, 1e-6);
  EXPECT_NEAR(device.compute->high, 1.5, 1e-6);
  EXPECT_EQ(device.compute->groups, 8U);
  EXPECT_EQ(device.compute->calls, 8U);
  EXPECT_FALSE(device.streams);
  EXPECT_FALSE(device.communication) << "of one rank of two";
  EXPECT_TRUE(found.not_used.empty());
}

TEST(ObserveOverlap, TheInnermostOperatorTellsTheCall) {
  MadeProfile profile;
  for (int size = 1; size <= kSizes; ++size) {
    const double us = 100 + 20 * size;
    profile.nested_kernel(size, 1000.5 * size, us);
    profile.comm(64, 50'000 + 1000 * size, 900);
    profile.nested_kernel(size, 50'010 + 1000 * size, 1.5 * us);
  }
  const ObservedOverlap found = observed({profile});
  EXPECT_NEAR(compute_factor(found), 1.5, 1e-9);
  EXPECT_EQ(only(found).compute.value_or(OverlapFactor()).groups, 8U);
}

TEST(ObserveOverlap, MediansAreOfEachCall) {
  MadeProfile profile;
  add_known_factor(profile, 1.5);
  profile.kernel(3, 50'000.5, 16);  // alone: 160, 160, 16
  profile.comm(64, 60'000, 1000);
  profile.kernel(3, 60'100, 240);  // beside: 240, 240, 900
  profile.comm(64, 62'000, 1000);
  profile.kernel(3, 62'050, 900);
  const ObservedOverlap found = observed({profile});
  EXPECT_NEAR(compute_factor(found), 1.5, 1e-9);
  EXPECT_EQ(only(found).compute.value_or(OverlapFactor()).calls, 10U);
}

TEST(ObserveOverlap, WhereNothingOverlapsThereIsNoFactorAndNothingToSay) {
  MadeProfile profile;
  for (int size = 1; size <= 6; ++size) {
    profile.kernel(size, 1000 * size, 100);
    profile.comm(64, 1000 * size + 200, 300);
  }
  const ObservedOverlap found = observed({profile});
  EXPECT_TRUE(found.devices.empty());
  EXPECT_TRUE(found.not_used.empty());
}

TEST(ObserveOverlap, WhereAllOverlapsThereIsNoFactor) {
  MadeProfile profile;
  for (int size = 1; size <= 6; ++size) {
    profile.comm(64, 2000 * size, 1000);
    profile.kernel(size, 2000 * size + 100, 100);
  }
  const ObservedOverlap found = observed({profile});
  EXPECT_TRUE(found.devices.empty());
  EXPECT_EQ(found.not_used,
            (Reasons{{"overlap: kernels beside communication, never seen alone", 6}}));
}

TEST(ObserveOverlap, PartlyIsNeither) {
  MadeProfile profile;
  add_known_factor(profile, 1.5);
  profile.comm(64, 50'000, 1000);
  profile.kernel(2, 50'800, 250);  // four fifths of it
  profile.comm(64, 60'000, 1000);
  profile.kernel(2, 60'810, 210);  // nine tenths: counts
  const ObservedOverlap found = observed({profile});
  EXPECT_NEAR(compute_factor(found), 1.5, 1e-9);
  EXPECT_EQ(only(found).compute.value_or(OverlapFactor()).calls, 9U);
  EXPECT_EQ(found.not_used, (Reasons{{"overlap: kernels partly beside communication", 1}}));
}

TEST(ObserveOverlap, CommunicationThatWaitsDisturbsNobody) {
  MadeProfile profile;
  add_known_factor(profile, 1.5);
  // Of 5000 us 4000 were spent waiting, since others of its size took 1000.
  profile.comm(64, 50'000, 5000);
  profile.kernel(2, 50'100, 140);
  profile.kernel(2, 53'900, 180);
  profile.kernel(2, 54'200, 210);
  const ObservedOverlap found = observed({profile});
  EXPECT_NEAR(compute_factor(found), 1.5, 1e-9);
  EXPECT_EQ(only(found).compute.value_or(OverlapFactor()).calls, 9U);
  EXPECT_EQ(
      found.not_used,
      (Reasons{{"overlap: kernels beside communication, which may have waited for other ranks", 1},
               {"overlap: kernels partly beside communication", 1}}));
}

TEST(ObserveOverlap, OfOneCommunicationAloneNobodyKnowsHowLongItWaited) {
  MadeProfile profile;
  for (int size = 1; size <= 6; ++size) {
    profile.kernel(size, 1000 * size, 100);
    profile.comm(64 + size, 50'000 + 1000 * size, 900);
    profile.kernel(size, 50'000 + 1000 * size, 150);
  }
  const ObservedOverlap found = observed({profile});
  EXPECT_TRUE(found.devices.empty());
  EXPECT_EQ(
      found.not_used,
      (Reasons{
          {"overlap: kernels beside communication, which may have waited for other ranks", 6}}));
}

TEST(ObserveOverlap, OtherRanksTellHowLongOneWaited) {
  MadeProfile first(0);
  MadeProfile last(1);
  for (int size = 1; size <= 6; ++size) {
    first.kernel(size, 1000.5 * size, 100);
    first.comm(64 + size, 50'000 + 1000 * size, 900);  // the last 300 with data
    first.kernel(size, 50'010 + 1000 * size, 100);
    first.kernel(size, 50'650 + 1000 * size, 150);
    last.comm(64 + size, 90'600 + 1000 * size, 300);
  }
  const ObservedOverlap found = observed({first, last});
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_NEAR(compute_factor(found), 1.5, 1e-9);
  EXPECT_EQ(only(found).sources, (std::vector<std::string>{"rank0.json", "rank1.json"}));
  EXPECT_EQ(
      found.not_used,
      (Reasons{
          {"overlap: communication partly beside kernels", 6},
          {"overlap: kernels beside communication, which may have waited for other ranks", 6}}));
}

TEST(ObserveOverlap, EachRanksCallsAreComparedWithItsOwn) {
  MadeProfile slow(0);
  MadeProfile fast(1);
  for (int size = 1; size <= 6; ++size) {
    for (auto* profile : {&slow, &fast}) {
      // Alone, too, one of the cards takes twice as long as the other.
      const double speed = profile == &slow ? 2 : 1;
      profile->kernel(size, 1000.5 * size, speed * 100);
      profile->comm(64, 50'000 + 1000 * size, 900);
      profile->kernel(size, 50'000 + 1000 * size, speed * 130);
    }
  }
  const ObservedOverlap found = observed({slow, fast});
  EXPECT_NEAR(compute_factor(found), 1.3, 1e-9);
  EXPECT_EQ(only(found).compute.value_or(OverlapFactor()).groups, 6U)
      << "different calls, not ranks";
  EXPECT_EQ(only(found).compute.value_or(OverlapFactor()).calls, 12U);
}

TEST(ObserveOverlap, DevicesDoNotDisturbEachOther) {
  MadeProfile profile;
  add_known_factor(profile, 1.5, 1);  // its communication runs on device 0
  const ObservedOverlap found = observed({profile});
  EXPECT_TRUE(found.devices.empty());
  EXPECT_TRUE(found.not_used.empty());
}

TEST(ObserveOverlap, CardsHaveFactorsOfTheirOwn) {
  MadeProfile a;
  add_known_factor(a, 1.5);
  MadeProfile b;
  add_known_factor(b, 1.25);
  std::vector<ProfiledDevice> devices = profiled_devices(b.parsed("GPU B"));
  std::ranges::move(profiled_devices(a.parsed()), std::back_inserter(devices));
  const ObservedOverlap found = observed_overlap(devices);
  ASSERT_EQ(found.devices.size(), 2U);
  EXPECT_EQ(found.devices[0].device, "GPU A");
  EXPECT_NEAR(found.devices[0].compute->factor, 1.5, 1e-9);
  EXPECT_NEAR(found.devices[1].compute->factor, 1.25, 1e-9);
}

TEST(ObserveOverlap, StreamsDisturbEachOther) {
  MadeProfile profile;
  for (int size = 1; size <= 6; ++size) {
    profile.kernel(size, 1000.5 * size, 100);
    profile.kernel(20 + size, 50'000 + 1000 * size, 800, 9);
    profile.kernel(size, 50'000 + 1000 * size, 125);
    profile.kernel(size, 50'750 + 1000 * size, 100);  // half of it
  }
  const ObservedOverlap found = observed({profile});
  ASSERT_EQ(found.devices.size(), 1U);
  ASSERT_TRUE(only(found).streams);
  EXPECT_NEAR(only(found).streams->factor, 1.25, 1e-9);
  EXPECT_FALSE(only(found).compute);
  // Of the 800 us of stream 9 175 are covered.
  EXPECT_EQ(found.not_used, (Reasons{{"overlap: kernels partly beside other kernels", 12}}));
}

TEST(ObserveOverlap, AStreamDoesNotDisturbItself) {
  MadeProfile profile;
  for (int size = 1; size <= kSizes; ++size) {
    profile.kernel(size, 1000.5 * size, 100);
    profile.kernel(size, 50'000 + 1000 * size, 100);
    profile.kernel(size, 50'050 + 1000 * size, 100);  // launched before the other has ended
  }
  const ObservedOverlap found = observed({profile});
  EXPECT_TRUE(found.devices.empty());
  EXPECT_TRUE(found.not_used.empty());
}

TEST(ObserveOverlap, WhatBothDisturbTellsNeither) {
  MadeProfile profile;
  add_known_factor(profile, 1.5);
  profile.comm(64, 50'000, 1000);
  profile.kernel(1, 50'100, 200);
  profile.kernel(2, 50'100, 200, 9);
  const ObservedOverlap found = observed({profile});
  EXPECT_NEAR(compute_factor(found), 1.5, 1e-9);
  EXPECT_EQ(found.not_used,
            (Reasons{{"overlap: kernels beside communication and other kernels at once", 2}}));
}

/// Steps of six kernels without sizes, all of one name and grid; every other one beside an
/// all-reduce, which falls on other kernels in each step.
MadeProfile profile_of_steps(int steps, int more_in_last = 0) {
  MadeProfile profile(0, false);
  for (int step = 0; step < steps; ++step) {
    const double start_us = 10'000.25 * (step + 1);
    profile.step(start_us);
    for (int i = 0; i < 6; ++i) {
      const bool is_beside = (i + step) % 2 == 0;
      const double us = 100 + 10 * i;
      if (is_beside) {
        profile.comm(64, start_us + 1000 * i + 90, 300);
      }
      profile.kernel(1, start_us + 1000 * i + 100, is_beside ? 1.4 * us : us);
    }
    for (int i = 0; step + 1 == steps && i < more_in_last; ++i) {
      profile.kernel(1, start_us + 9000 + 100 * i, 50);
    }
  }
  return profile;
}

TEST(ObserveOverlap, WithoutSizesCallsOfStepsAreToldByTheirPlace) {
  const ObservedOverlap found = observed({profile_of_steps(2)});
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_NEAR(compute_factor(found), 1.4, 1e-9);
  EXPECT_NEAR(only(found).compute->high, 1.4, 1e-6);
  EXPECT_EQ(only(found).compute.value_or(OverlapFactor()).groups, 6U);
  EXPECT_TRUE(found.not_used.empty());
}

TEST(ObserveOverlap, WhatNoStepLaunchedIsNotOfTheSteps) {
  MadeProfile profile = profile_of_steps(2);
  profile.kernel(1, 500, 50);
  profile.kernel(1, 90'000, 50);
  EXPECT_NEAR(compute_factor(observed({profile})), 1.4, 1e-9);
}

TEST(ObserveOverlap, WithoutSizesAndAlikeStepsCallsAreNotKnown) {
  const Reasons unknown = {
      {"overlap: kernels whose call is not known, for lack of input sizes and steps", 6}};
  EXPECT_EQ(observed({profile_of_steps(2, 1)}).not_used, unknown);
  const ObservedOverlap one_step = observed({profile_of_steps(1)});
  EXPECT_TRUE(one_step.devices.empty());
  EXPECT_EQ(one_step.not_used.begin()->second, 3U);
}

TEST(ObserveOverlap, ShortKernelsOfACoarseClockAreNotUsed) {
  MadeProfile coarse;
  MadeProfile fine;
  for (int size = 1; size <= 6; ++size) {
    for (auto* profile : {&coarse, &fine}) {
      profile->kernel(size, 1000 * size, 8);
      profile->comm(64, 50'000 + 1000 * size, 900);
      profile->kernel(size, 50'000 + 1000 * size, 12);
    }
  }
  fine.kernel(9, 90'000.5, 1);
  EXPECT_EQ(
      observed({coarse}).not_used,
      (Reasons{{"overlap: kernels beside communication, too short for their profile's clock", 6}}));
  EXPECT_NEAR(compute_factor(observed({fine})), 1.5, 1e-9);
}

TEST(ObserveOverlap, TooFewCallsAreCounted) {
  MadeProfile profile;
  for (int size = 1; size <= 4; ++size) {
    profile.kernel(size, 1000.5 * size, 100);
    profile.comm(64, 50'000 + 1000 * size, 900);
    profile.kernel(size, 50'000 + 1000 * size, 130);
  }
  const ObservedOverlap found = observed({profile});
  EXPECT_TRUE(found.devices.empty());
  EXPECT_EQ(
      found.not_used,
      (Reasons{{"overlap: different kernels beside communication, too few for a factor", 4}}));
}

TEST(ObserveOverlap, WhatWasFasterBesideOtherWorkIsCounted) {
  MadeProfile profile;
  add_known_factor(profile, 0.8);
  const ObservedOverlap found = observed({profile});
  EXPECT_TRUE(found.devices.empty());
  EXPECT_EQ(found.not_used, (Reasons{{"overlap: different kernels beside communication, which "
                                      "were faster than alone",
                                      8}}));
}

TEST(ObserveOverlap, OldProfilesNameNoCollectives) {
  MadeProfile profile;
  for (int size = 1; size <= 6; ++size) {
    profile.kernel(size, 1000.5 * size, 100);
    profile.unnamed_comm(64, 50'000 + 1000 * size, size == 1 ? 300 : 900);  // the last 300
    profile.kernel(size, size == 1 ? 51'010 : 50'650 + 1000 * size, 120);
  }
  const ObservedOverlap found = observed({profile});
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_NEAR(compute_factor(found), 1.2, 1e-9);
  EXPECT_TRUE(found.not_used.empty());
}

/// All-reduces of eight sizes on two ranks: alone, and beside a kernel of rank 0, where they take
/// `factor` times as long; rank 0 comes first, and waits.
std::vector<MadeProfile> communicating_ranks(double factor) {
  std::vector<MadeProfile> profiles = {MadeProfile(0), MadeProfile(1)};
  for (int size = 1; size <= kSizes; ++size) {
    const double us = 300 + 20 * size;
    for (const bool is_beside : {false, true}) {
      const double start_us = 10'000.5 * size + (is_beside ? 5000 : 0);
      const double data_us = is_beside ? factor * us : us;
      profiles[0].comm(size, start_us, 400 + data_us);
      profiles[1].comm(size, start_us + 77'000, data_us);
      if (is_beside) {
        profiles[0].kernel(1, start_us + 390, data_us + 20);
      }
    }
  }
  return profiles;
}

TEST(ObserveOverlap, CommunicationIsSlowedByKernels) {
  const ObservedOverlap found = observed(communicating_ranks(1.25));
  ASSERT_EQ(found.devices.size(), 1U);
  ASSERT_TRUE(only(found).communication);
  EXPECT_NEAR(only(found).communication->factor, 1.25, 1e-5);
  EXPECT_EQ(only(found).communication->groups, 8U);
}

TEST(ObserveOverlap, CommunicationNeedsAllRanks) {
  const ObservedOverlap found = observed({communicating_ranks(1.25).front()});
  EXPECT_TRUE(found.devices.empty());
}

TEST(ObserveOverlap, CommunicationPartlyBesideKernelsIsCounted) {
  std::vector<MadeProfile> profiles = communicating_ranks(1.25);
  profiles[0].comm(1, 290'000, 100);
  profiles[1].comm(1, 390'000, 100);
  profiles[1].kernel(50, 390'010, 30);
  const ObservedOverlap found = observed(profiles);
  EXPECT_TRUE(only(found).communication);
  EXPECT_EQ(found.not_used.at("overlap: communication partly beside kernels"), 1U);
}

}  // namespace
}  // namespace understudy::predictor
