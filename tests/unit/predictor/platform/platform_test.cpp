#include "predictor/platform/platform.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "predictor/platform/platform_costs.h"
#include "synthetic.h"
#include "testing/error_text.h"
#include "testing/made_program.h"
#include "testing/temporary_folder.h"

namespace understudy::predictor {
namespace {

using testing_errors::told;

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
  platform.operators = fit_operator_models(platform.rows, {a, b, synthetic::card("C", 3)},
                                           synthetic::quick_models());
  platform.sections["ceilings"] =
      R"([{"device":"cpu","kind":"bandwidth","name":"L1","per_s":1.5,"threads":1}])";
  return platform;
}

const Platform& made() {
  static const Platform platform = make();
  return platform;
}

std::string refusal(std::string_view text) {
  return testing_errors::error_of([&] { return parse_platform(text, "p.platform.json"); });
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
      told("the platform is of another version than this program reads", "file: p.platform.json",
           "field: version", "expected: version 1, which Understudy 0.1.0 reads",
           "got: version 99, written by Understudy of an unknown version",
           "hint: use that version of Understudy, or make the platform again with "
           "this one"));
}

/// Energies by a law of 100 W and 30 W more where little is moved; no machine here reads them.
TEST(Energy, IsPredictedAsTimeIs) {
  const Card card = synthetic::card("A");
  Platform platform;
  platform.rows = synthetic::elementwise(card, 300);
  const auto joules = [](double ns) { return (ns > 40000 ? 100 : 130) * ns / 1e9; };
  for (std::size_t i = 0; i < platform.rows.size(); i += 2) {
    platform.rows[i].counters["energy_j"] = joules(platform.rows[i].time().median_ns);
  }
  ModelsOptions options = synthetic::quick_models();
  platform.energy = fit_energy(platform.rows, {card}, options);
  ASSERT_TRUE(platform.energy);
  const OperatorModels times = fit_operator_models(platform.rows, {card}, options);
  const Platform read = parse_platform(to_json(platform), "p.platform.json");
  ASSERT_TRUE(read.energy);
  const DeviceKey key{"A", 0, TimedAs::kTimedCall};
  for (std::size_t i = 1; i < platform.rows.size(); i += 20) {
    const OperatorCall& call = platform.rows[i].call;
    const auto energy = read.energy->predict(call, key, times);
    ASSERT_TRUE(energy);
    const double truth = joules(platform.rows[i].time().median_ns);
    EXPECT_NEAR(energy->joules, truth, 0.35 * truth);
    EXPECT_LT(energy->low_joules, energy->joules);
    EXPECT_GT(energy->high_joules, energy->joules);
    EXPECT_EQ(energy->joules, platform.energy->predict(call, key, times)->joules);
  }
  EXPECT_FALSE(read.energy->predict(synthetic::relu(8, 8), {"B", 0, TimedAs::kTimedCall}, times));
  const TensorLayout square{et_schema::DType::kFloat32, {64, 64}};
  EXPECT_FALSE(read.energy->predict({"aten::mm", "", {square, square}, {square}}, key, times));
}

TEST(Energy, OfAnotherCardIsBetweenEqualEnergyAndEqualPower) {
  const Card card = synthetic::card("A");
  std::vector<MeasuredCall> rows = synthetic::elementwise(card, 300);
  for (MeasuredCall& row : rows) {
    row.counters["energy_j"] = 100 * row.time().median_ns / 1e9;
  }
  OperatorModels times = fit_operator_models(rows, {card}, synthetic::quick_models());
  times.add_card(synthetic::card("B", 4));
  const auto energy = fit_energy(rows, {card}, synthetic::quick_models());
  const DeviceKey here{"A", 0, TimedAs::kTimedCall};
  const DeviceKey there{"B", 0, TimedAs::kTimedCall};
  const OperatorCall call = synthetic::relu(8000, 2000);
  const double joules = energy->predict(call, here, times)->joules;
  const double ratio = times.predict(call, there).ns / times.predict(call, here).ns;
  const auto other = energy->predict(call, there, times);
  ASSERT_TRUE(other);
  EXPECT_NEAR(other->joules, joules * std::sqrt(ratio), 1e-9 * joules);
  EXPECT_LT(ratio, 0.5);
  EXPECT_NEAR(other->high_joules / other->joules, std::exp(0.9), 1e-9);
}

TEST(Energy, WithoutTheCounterThereIsNone) {
  const Card card = synthetic::card("A");
  EXPECT_FALSE(fit_energy(synthetic::elementwise(card, 50), {card}, synthetic::quick_models()));
  EXPECT_FALSE(parse_platform(to_json(made()), "p.platform.json").energy);
}

TEST(PlatformFile, ASectionThatNobodyReadsIsRefused) {
  std::string text = to_json(made());
  const std::string name = "\"sections\":{\n\"ceilings\"";
  ASSERT_NE(text.find(name), std::string::npos);
  text.replace(text.find(name), name.size(), "\"sections\":{\n\"overlaps\"");
  EXPECT_EQ(refusal(text),
            told("the platform cannot be read", "file: p.platform.json", "field: sections.overlaps",
                 "expected: one of the sections ceilings, collectives, embeddings, host, "
                 "overheads",
                 "got: overlaps", "hint: make the file again with `calibrate`"));
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
  for (int i = 0; i < 2; ++i) {
    testing_programs::add_tensor(program, {2000, 300});
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

/// Element-wise operators measured on a host with so many threads.
Platform host_platform(int threads) {
  Platform platform;
  Card host = synthetic::card("cpu");
  for (MeasuredCall call : synthetic::elementwise(host, 100)) {
    call.host = call.time();
    call.timed_call.reset();
    call.threads = threads;
    platform.rows.push_back(call);
  }
  platform.operators = fit_operator_models(platform.rows, {host}, synthetic::quick_models());
  return platform;
}

/// What another machine's rows are combined with must not be taken for it.
TEST(PlatformFile, RowsOfAHostKeepTheirMachine) {
  const testing_files::TemporaryFolder folder;
  const std::string file = folder.path() + "/there.platform.json";
  Card there;
  there.name = "cpu";
  there.processors = 72;
  there.l2_bytes = 117e6;
  there.memory_bytes = 480e9;
  there.source = "Neoverse-V2";
  ModelsOptions options = synthetic::quick_models();
  options.host = there;
  Platform platform = host_platform(72);
  platform.operators = fit_operator_models(platform.rows, {}, options);
  const Card& fitted = platform.operators.devices().begin()->second.card;
  EXPECT_EQ(fitted.l2_bytes, 117e6);
  EXPECT_GT(fitted.flops, 0);
  std::ofstream(file) << to_json(platform);
  PlatformContent content;
  EXPECT_TRUE(take_platform_files({file}, content).empty());
  EXPECT_EQ(content.host, there);
}

TEST(PlatformCosts, OnAHostTheHostDoesTheWork) {
  const Platform platform = host_platform(2);
  const et_schema::Program program = relu_program();
  const PlatformCosts costs(platform, {"", 1});
  EXPECT_EQ(costs.device().threads, 2) << "the nearest that was measured";
  const OperatorCost cost = costs.of_operator(program, program.instructions[0]);
  EXPECT_GT(cost.host.ns, 0);
  EXPECT_EQ(cost.device.ns, 0);
  RecordedParts parts;
  parts.page_faults = [](const et_schema::Program&, const et_schema::Instruction&) {
    return Estimate{1000, 500, 6000, "page faults", false, true};
  };
  const OperatorCost faulting =
      PlatformCosts(platform, {"", 1}, parts).of_operator(program, program.instructions[0]);
  EXPECT_DOUBLE_EQ(faulting.host.ns, cost.host.ns + 1000);
  EXPECT_DOUBLE_EQ(faulting.host.low_ns, cost.host.low_ns + 500);
  EXPECT_DOUBLE_EQ(faulting.host.high_ns, cost.host.high_ns + 6000);
}

/// What an all-reduce's tensors take is communication, not reading and writing them on top.
TEST(PlatformCosts, TheHostDoesNoWorkOfACommunication) {
  const Platform platform = host_platform(1);
  et_schema::Program program = relu_program();
  et_schema::Instruction& call = program.instructions[0];
  call.name = "allreduce";
  call.kind = et_schema::InstructionKind::kCollective;
  call.comm.emplace();
  call.comm->kind = et_schema::CommKind::kAllReduce;
  for (const auto kind :
       {et_schema::InstructionKind::kCollective, et_schema::InstructionKind::kWait}) {
    call.kind = kind;
    const OperatorCost cost = PlatformCosts(platform, {"", 1}).of_operator(program, call);
    EXPECT_EQ(cost.host.ns, 0);
    EXPECT_TRUE(cost.host.modelled);
    EXPECT_EQ(cost.device.ns, 0);
    EXPECT_EQ(cost.launches, 0U);
    // To a card it has to be issued, by whatever host.
    const OperatorCost on_card = PlatformCosts(made(), {"A", 1}).of_operator(program, call);
    EXPECT_FALSE(on_card.host.modelled);
    EXPECT_GT(on_card.host.ns, 0);
    EXPECT_EQ(on_card.device.ns, 0);
  }
}

/// A table, the rows of a gradient and where they go, the gradient: sparse as a trace shows it.
et_schema::Program sparse_update_program() {
  et_schema::Program program;
  const auto slot = [&](et_schema::DType dtype, std::vector<std::int64_t> sizes,
                        std::vector<std::int64_t> strides) {
    program.storages.emplace_back();
    et_schema::Slot& made = program.slots.emplace_back();
    made.storage = static_cast<et_schema::StorageId>(program.storages.size() - 1);
    made.dtype = dtype;
    made.sizes = std::move(sizes);
    made.strides = std::move(strides);
    return et_schema::Argument{
        et_schema::Argument::SlotRef{static_cast<et_schema::SlotId>(program.slots.size() - 1)}};
  };
  const auto table = slot(et_schema::DType::kFloat32, {1000, 16}, {16, 1});
  const auto indices = slot(et_schema::DType::kInt64, {1, 70}, {70, 1});
  const auto values = slot(et_schema::DType::kFloat32, {70, 16}, {16, 1});
  const auto gradient = slot(et_schema::DType::kFloat32, {1000, 16}, {0, 0});
  program.slots.back().sparse = true;
  et_schema::Instruction make;
  make.name = "aten::_sparse_coo_tensor_unsafe";
  make.args = {indices, values};
  make.results = {gradient};
  et_schema::Instruction add;
  add.name = "aten::add_.Tensor";
  add.args = {table, gradient};
  add.results = {table};
  program.instructions = {make, add};
  return program;
}

TEST(PlatformCosts, ASparseGradientIsAddedRowByRow) {
  et_schema::Program program = sparse_update_program();
  const OperatorCall call = call_of(program, program.instructions[1]);
  EXPECT_EQ(call.name, "aten::index_add_");
  ASSERT_EQ(call.inputs.size(), 3U);
  EXPECT_EQ(to_string(call.inputs[0]), "float32[1000,16]");
  EXPECT_EQ(to_string(call.inputs[1]), "int64[70]");
  EXPECT_EQ(to_string(call.inputs[2]), "float32[70,16]");
  EXPECT_EQ(to_string(call.outputs.at(0)), "float32[68,16]") << "some rows are met twice";
  program.slots.back().sparse = false;
  EXPECT_EQ(call_of(program, program.instructions[1]).name, "aten::add_");
  program.slots.back().sparse = true;
  program.instructions[0].args.clear();
  EXPECT_EQ(call_of(program, program.instructions[1]).name, "aten::add_") << "no rows are told";
}

TEST(PlatformCosts, ASparseUpdateWritesEachRowThatItsIndicesMeetOnce) {
  et_schema::Program program = sparse_update_program();
  et_schema::Slot& indices = program.slots[1];
  indices.external = true;
  const et_schema::Reuse ten_rows{.bins = {{.low = 0, .high = 1000, .repeats = {{7, 10}}}}};
  indices.value.emplace().kind =
      et_schema::ValueRule::ReusedIntegers{.low = 0, .high = 1000, .reuse = ten_rows};
  EXPECT_EQ(to_string(call_of(program, program.instructions[1]).outputs.at(0)), "float32[10,16]");
}

TEST(PlatformCosts, ASparseTensorIsAsLargeAsWhatItHolds) {
  et_schema::Program program = sparse_update_program();
  const OperatorCall made = call_of(program, program.instructions[0]);
  EXPECT_EQ(to_string(made.outputs.at(0)), "float32[1000,16;0,0;1120]");
  program.instructions[0].args.clear();
  const OperatorCall unknown = call_of(program, program.instructions[0]);
  EXPECT_EQ(to_string(unknown.outputs.at(0)), "float32[1000,16;0,0]");
}

TEST(PlatformCosts, RecordedHostTimesAreTakenWhereADeviceDidTheWork) {
  const Platform& platform = made();
  et_schema::Program program = relu_program();
  program.instructions[0].timing = et_schema::Timing{.host_ns = 12345, .gap_ns = 678};
  const PlatformCosts costs(platform, {"A", 1});
  program.profile.emplace();
  EXPECT_NE(costs.of_operator(program, program.instructions[0]).host.ns, 12345)
      << "a host's own work is no issue of a kernel";
  program.profile->device_events = 1;
  EXPECT_EQ(costs.of_operator(program, program.instructions[0]).host.ns, 12345);
  EXPECT_FALSE(costs.of_gap(program, program.instructions[0]).modelled) << "RecordedCosts' to tell";
}

TEST(PlatformCosts, SeveralDevicesAndNoneNamedIsRefused) {
  const Platform& platform = made();
  EXPECT_EQ(testing_errors::error_of([&] { const PlatformCosts costs(platform, {}); }),
            told("no such device in the platform file", "expected: A; B; C",
                 "got: several devices, and none named",
                 "hint: name one of them (--card, or a table's column Device), or describe a "
                 "card: --card card.json"));
}

}  // namespace
}  // namespace understudy::predictor
