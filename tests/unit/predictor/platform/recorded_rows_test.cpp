#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "predictor/platform/platform_costs.h"
#include "synthetic.h"
#include "testing/error_text.h"
#include "testing/made_program.h"

namespace understudy::predictor {
namespace {

using testing_errors::told;

/// relu, then a view that launches nothing, on the first tensor's device.
et_schema::Bench recorded_bench(et_schema::Device device, std::uint64_t device_events) {
  et_schema::Program program;
  for (int i = 0; i < 2; ++i) {
    testing_programs::add_tensor(program, {2000, 300}, false, et_schema::DType::kFloat32, device);
  }
  for (const char* name : {"aten::relu", "aten::view"}) {
    et_schema::Instruction instruction;
    instruction.name = name;
    instruction.args = {{et_schema::Argument::SlotRef{0}}};
    instruction.results = {{et_schema::Argument::SlotRef{1}}};
    instruction.timing.emplace();
    instruction.timing->host_ns = 7000;
    program.instructions.push_back(instruction);
  }
  program.instructions[0].timing->device_ns = device_events > 0 ? 5000 : 0;
  program.profile.emplace();
  program.profile->device_events = device_events;
  program.profile->steps = 3;
  program.profile->variables["OMP_NUM_THREADS"] = "2";
  et_schema::Bench bench;
  bench.programs.push_back(program);
  return bench;
}

TEST(RecordedRows, OfAHostAreItsOperatorsTimes) {
  const auto calls = recorded_calls(recorded_bench({et_schema::DeviceType::kCpu, -1}, 0), "b.et");
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].call.name, "aten::relu");
  EXPECT_EQ(calls[0].call.inputs, synthetic::relu(2000, 300).inputs);
  EXPECT_EQ(calls[0].device, "cpu");
  EXPECT_EQ(calls[0].timed(), TimedAs::kHost);
  EXPECT_EQ(calls[0].threads, 2);
  EXPECT_EQ(calls[0].time().median_ns, 7000);
  EXPECT_EQ(calls[0].time().n, 3U);
  EXPECT_EQ(calls[0].source, "b.et");
}

TEST(RecordedRows, OfADeviceAreTheDevicesTimes) {
  const auto calls = recorded_calls(recorded_bench({et_schema::DeviceType::kCuda, 1}, 9), "b.et");
  ASSERT_EQ(calls.size(), 1U) << "the view launches nothing";
  EXPECT_EQ(calls[0].device, "cuda") << "which one no profile of ours tells";
  EXPECT_EQ(calls[0].timed(), TimedAs::kDevice);
  EXPECT_EQ(calls[0].threads, 0);
  EXPECT_EQ(calls[0].time().median_ns, 5000);
}

template <typename Act>
std::string refusal_of_rows(Act&& act) {
  return testing_errors::error_of([&] { return act(); });
}

TEST(RecordedRows, WithoutTimesThereAreNone) {
  et_schema::Bench bench = recorded_bench({et_schema::DeviceType::kCpu, -1}, 0);
  bench.programs.edit(0).profile.reset();
  EXPECT_EQ(refusal_of_rows([&] { static_cast<void>(recorded_calls(bench, "b.et")); }),
            told("a benchmark without recorded times", "file: b.et",
                 "expected: times of a linked profile", "got: none",
                 "hint: Make it anew with `understudy generate --profile`, from a Kineto profile "
                 "of the same step; a folder that scripts/capture wrote holds one."));
}

TEST(NamePlaces, AGpuIsTheCardThatIsDescribed) {
  std::vector<MeasuredCall> calls = synthetic::elementwise(synthetic::card("cuda:0"), 3);
  calls[1].device = "cuda";
  calls[2].device = "A";
  name_places(calls, {});
  EXPECT_EQ(calls[0].device, "cuda:0") << "nothing is known of it";
  name_places(calls, {synthetic::card("A"), synthetic::card("B")});
  EXPECT_EQ(calls[0].device, "B") << "A has rows that name it";
  EXPECT_EQ(calls[1].device, "B");
  EXPECT_EQ(calls[2].device, "A");
}

TEST(NamePlaces, SeveralCardsAreRefused) {
  std::vector<MeasuredCall> calls = synthetic::elementwise(synthetic::card("cuda:0"), 3);
  EXPECT_EQ(refusal_of_rows([&] {
              name_places(calls, {synthetic::card("A"), synthetic::card("B")});
            }),
            told("several cards are described, and rows do not name theirs", "file: made up",
                 "field: --card", "expected: the card of cuda:0 alone", "got: A; B",
                 "hint: give its card's file; those of others can be added later: understudy "
                 "calibrate THIS.platform.json --card CARDS"));
}

}  // namespace
}  // namespace understudy::predictor
