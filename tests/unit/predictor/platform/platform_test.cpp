#include "predictor/platform/platform.h"

#include <gtest/gtest.h>

#include "et_schema/support/error.h"
#include "predictor/platform/platform_costs.h"
#include "synthetic.h"

namespace understudy::predictor {
namespace {

Platform make() {
  const Card a = synthetic::card("A");
  const Card b = synthetic::card("B", 2);
  Platform platform;
  platform.rows = synthetic::elementwise(a, 320);
  for (const Card& card : {a, b}) {
    if (card.name == "B") {
      for (MeasuredCall& call : synthetic::elementwise(card, 320)) {
        platform.rows.push_back(call);
      }
    }
  }
  for (MeasuredCall& call : synthetic::elementwise(synthetic::card("C", 3), 20)) {
    call.counters["energy_j"] = 0.5;
    platform.rows.push_back(call);
  }
  platform.operators = fit_operator_models(platform.rows, {a, b, synthetic::card("C", 3)});
  platform.sections["overheads"] = R"({"t1":[1.5,2]})";
  return platform;
}

const Platform& made() {
  static const Platform platform = make();
  return platform;
}

std::string refusal(std::string_view text) {
  try {
    static_cast<void>(parse_platform(text, "p.platform.json"));
  } catch (const et_schema::Error& error) {
    return et_schema::to_text(error);
  }
  return "read";
}

TEST(PlatformFile, WhatIsWrittenReadsBackAndPredictsTheSame) {
  const Platform& platform = made();
  const std::string text = to_json(platform);
  const Platform read = parse_platform(text, "p.platform.json");
  EXPECT_EQ(to_json(read), text);
  EXPECT_EQ(read.sections, platform.sections);
  EXPECT_EQ(read.rows.size(), platform.rows.size());
  for (const char* device : {"A", "B", "C"}) {
    for (const std::int64_t rows : {1, 500, 50000, 5000000}) {
      const OperatorCall call = synthetic::relu(rows, 777);
      const DeviceKey key{device, 0, TimedAs::kTimedCall};
      EXPECT_EQ(read.operators.predict(call, key).ns, platform.operators.predict(call, key).ns);
      EXPECT_EQ(read.operators.predict(call, key).high_ns,
                platform.operators.predict(call, key).high_ns);
    }
  }
}

TEST(PlatformFile, OfAnotherVersionIsRefused) {
  EXPECT_EQ(
      refusal(R"({"format":"understudy-platform","version":99})"),
      "the platform is of a newer format than this program reads\n  file:     "
      "p.platform.json\n  field:    version\n  expected: version 1 or older, which Understudy "
      "0.1.0 reads\n  got:      version 99, written by Understudy of an unknown version\n  "
      "hint:     use that version of Understudy or a newer one, or make the platform again "
      "with this one");
}

TEST(PlatformFile, DamageIsRefusedWithItsPlace) {
  const std::string text = to_json(made());
  std::string nan = text;
  const std::size_t rows = nan.find("\"calls\":[[");
  const std::size_t number = nan.find("\",", nan.find("\",\"", rows) + 3) + 2;
  nan.replace(number, nan.find(',', number) - number, "-1");
  EXPECT_NE(refusal(nan).find("expected: nanoseconds, more than 0"), std::string::npos)
      << refusal(nan);
  EXPECT_NE(refusal(text.substr(0, text.size() / 2)).find("the platform cannot be read"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"format":"understudy-platform","version":1})").find("operators"),
            std::string::npos);
}

et_schema::Program relu_program() {
  et_schema::Program program;
  program.storages.resize(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    et_schema::Slot slot;
    slot.storage = i;
    slot.dtype = et_schema::DType::kFloat32;
    slot.sizes = {2000, 300};
    slot.strides = {300, 1};
    program.slots.push_back(slot);
  }
  et_schema::Instruction instruction;
  instruction.name = "aten::relu";
  instruction.args = {{et_schema::Argument::SlotRef{0}}};
  instruction.results = {{et_schema::Argument::SlotRef{1}}};
  program.instructions = {instruction};
  return program;
}

TEST(PlatformCosts, AnOperatorOnACardTakesItsHostAndItsDevice) {
  const Platform& platform = made();
  const et_schema::Program program = relu_program();
  const PlatformCosts costs(platform, {"A", 1});
  const OperatorCost cost = costs.of_operator(program, program.instructions[0]);
  const double truth = synthetic::elementwise_ns(synthetic::relu(2000, 300), synthetic::card("A"));
  EXPECT_NEAR(cost.device.ns, truth, 0.3 * truth);
  EXPECT_GT(cost.host.ns, 0);
  EXPECT_EQ(cost.launches, 1U);
  EXPECT_FALSE(costs.of_communication({}).modelled);
  EXPECT_GT(costs.of_communication({}).ns, 0);
  EXPECT_FALSE(costs.of_gap(program, program.instructions[0]).modelled);
}

TEST(PlatformCosts, OnAHostTheHostDoesTheWork) {
  Platform platform;
  Card host = synthetic::card("cpu");
  for (MeasuredCall call : synthetic::elementwise(host, 100)) {
    call.timed = TimedAs::kHost;
    call.threads = 2;
    platform.rows.push_back(call);
  }
  platform.operators = fit_operator_models(platform.rows, {host});
  const et_schema::Program program = relu_program();
  const PlatformCosts costs(platform, {"", 1});
  EXPECT_EQ(costs.device().threads, 2) << "the nearest that was measured";
  const OperatorCost cost = costs.of_operator(program, program.instructions[0]);
  EXPECT_GT(cost.host.ns, 0);
  EXPECT_EQ(cost.device.ns, 0);
}

TEST(PlatformCosts, RecordedHostTimesAreTaken) {
  const Platform& platform = made();
  et_schema::Program program = relu_program();
  program.instructions[0].timing = et_schema::Timing{.host_ns = 12345, .gap_ns = 678};
  const PlatformCosts costs(platform, {"A", 1});
  EXPECT_EQ(costs.of_operator(program, program.instructions[0]).host.ns, 12345);
  EXPECT_EQ(costs.of_gap(program, program.instructions[0]).ns, 678);
}

TEST(PlatformCosts, SeveralDevicesAndNoneNamedIsRefused) {
  const Platform& platform = made();
  try {
    const PlatformCosts costs(platform, {});
    FAIL();
  } catch (const et_schema::Error& error) {
    EXPECT_EQ(et_schema::to_text(error),
              "no such device in the platform file\n  expected: A; B; C\n  got:      "
              "several devices, and none named\n  hint:     name one of them, or describe a card: "
              "--card card.json");
  }
}

}  // namespace
}  // namespace understudy::predictor
