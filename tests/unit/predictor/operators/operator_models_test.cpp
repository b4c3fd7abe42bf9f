#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "et_schema/base/json_fields.h"
#include "predictor/operators/features.h"
#include "predictor/operators/operator_models_json.h"
#include "synthetic.h"
#include "testing/error_text.h"

namespace understudy::predictor {
namespace {

OperatorCall named(OperatorCall call, const std::string& name, const std::string& overload = "") {
  call.name = name;
  call.overload = overload;
  return call;
}

struct OneCard : testing::Test {
  static const OperatorModels& fitted() {
    static const OperatorModels models =
        fit_operator_models(synthetic::elementwise(synthetic::card("A"), 400),
                            {synthetic::card("A")}, synthetic::quick_models());
    return models;
  }
  Card on = synthetic::card("A");
  const OperatorModels& models = fitted();
  DeviceKey key{"A", 0, TimedAs::kTimedCall};
};

TEST_F(OneCard, PredictsWhatItHasMeasured) {
  const OperatorCall call = synthetic::relu(2000, 300);
  const Prediction prediction = models.predict(call, key);
  const double truth = synthetic::elementwise_ns(call, on);
  EXPECT_NEAR(prediction.ns, truth, 0.05 * truth);
  EXPECT_LE(prediction.low_ns, truth);
  EXPECT_GE(prediction.high_ns, truth);
  EXPECT_FALSE(prediction.extrapolated);
  EXPECT_TRUE(prediction.modelled);
}

TEST_F(OneCard, TheDevicesPartOfACallAtTheFloorIsSmaller) {
  const Prediction small = models.predict(synthetic::relu(8, 32), key);
  EXPECT_NEAR(small.ns, 20000, 1000);
  EXPECT_LT(small.device_ns, 10000);
  EXPECT_NEAR(small.host_ns, 20000, 2000);
}

/// Times follow planted bytes, which half of the calls move four times as often as shapes say.
TEST(CountedWork, DecidesPredictionsInPlaceOfShapes) {
  const Card card = synthetic::card("A");
  const auto ns_of = [&](double bytes) {
    return 5000 + bytes / (0.8 * card.bandwidth_bytes_per_s) * 1e9;
  };
  std::vector<MeasuredCall> calls = synthetic::elementwise(card, 400);
  double counted = 0;
  double of_shapes = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const double bytes = bytes_of(work_of(calls[i].call));
    const double planted = (i % 2 == 0 ? 4 : 0.5) * bytes;
    calls[i].counters["dram_bytes"] = planted;
    calls[i].timed_call->median_ns = ns_of(planted);
    counted += planted;
    of_shapes += bytes;
  }
  const OperatorModels models = fit_operator_models(calls, {card}, synthetic::quick_models());
  const nlohmann::json document = et_schema::json_of(models);
  const et_schema::JsonSource source{"p.json", "no platform", ""};
  const auto read = et_schema::read_json<OperatorModels>(et_schema::JsonField(document, source));
  const DeviceKey key{"A", 0, TimedAs::kTimedCall};
  const OperatorCall call = synthetic::relu(20000, 300);
  const double bytes = bytes_of(work_of(call));
  for (const double factor : {0.5, 1.0, 4.0}) {
    const double truth = ns_of(factor * bytes);
    EXPECT_NEAR(models.predict(call, key, {{"dram_bytes", factor * bytes}}).ns, truth, 0.1 * truth)
        << factor;
  }
  // Without counters of its own the call moves as many bytes as the operator's calls on average.
  const double expected = read.predict(call, key, {{"dram_bytes", counted / of_shapes * bytes}}).ns;
  EXPECT_NEAR(read.predict(call, key).ns, expected, 1e-6 * expected);
}

/// Rows of `replay --operator-times` and of profiles: no host is in them.
TEST(DeviceTimes, AreTheDevicesDownToTheSmallest) {
  std::vector<MeasuredCall> calls = synthetic::elementwise(synthetic::card("A"), 400);
  for (MeasuredCall& call : calls) {
    call.on_device = call.time();
  }
  const OperatorModels models =
      fit_operator_models(calls, {synthetic::card("A")}, synthetic::quick_models());
  const Prediction small = models.predict(synthetic::relu(8, 32), {"A", 0, TimedAs::kDevice});
  EXPECT_NEAR(small.ns, 20000, 1000);
  EXPECT_EQ(small.device_ns, small.ns);
  EXPECT_EQ(small.host_ns, 0) << "not told";
}

/// `count` float32 convolutions by filters of a size, each at `share` of what its products take.
std::vector<MeasuredCall> convolutions(const Card& on, std::int64_t filter, double share) {
  std::vector<MeasuredCall> calls;
  for (std::int64_t i = 0; i < 60; ++i) {
    const std::int64_t channels = 64 + 8 * (i % 10);
    const std::int64_t size = 28 + 7 * (i / 10);
    const TensorLayout x{et_schema::DType::kFloat32, {16, channels, size, size}};
    const TensorLayout w{et_schema::DType::kFloat32, {128, channels, filter, filter}};
    const TensorLayout y{et_schema::DType::kFloat32, {16, 128, size, size}};
    MeasuredCall& call = calls.emplace_back();
    call.call = {"aten::conv2d", "", {x, w}, {y}};
    call.device = on.name;
    call.timed_call.emplace().median_ns =
        share * 2 * 16 * 128.0 * static_cast<double>(size * size * channels * filter * filter) /
        on.flops * 1e9;
  }
  return calls;
}

TEST(Convolutions, MayTakeLessThanTheirProductsByWinogradsWay) {
  const Card on = synthetic::card("A");
  const DeviceKey key{"A", 0, TimedAs::kTimedCall};
  const auto of_filter = [&](std::int64_t filter) {
    const auto calls = convolutions(on, filter, 0.5);
    const Prediction prediction =
        fit_operator_models(calls, {on}, synthetic::quick_models()).predict(calls[30].call, key);
    return std::pair(prediction, calls[30].time().median_ns);
  };
  const auto [winograd, measured] = of_filter(3);
  EXPECT_NEAR(winograd.ns, measured, 0.1 * measured);
  EXPECT_GT(winograd.high_ns, winograd.ns);
}

/// float32 products on tensor cores, a boost clock, a wrong data sheet: what was measured stays.
TEST(Specification, DoesNotOverruleWhatWasMeasured) {
  const Card on = synthetic::card("A");
  const DeviceKey key{"A", 0, TimedAs::kTimedCall};
  const auto calls = convolutions(on, 1, 0.1);  // ten times the peak, without Winograd's way
  const OperatorModels models = fit_operator_models(calls, {on}, synthetic::quick_models());
  const et_schema::JsonSource source{"p.json", "the platform cannot be read", "make it again"};
  const nlohmann::json document = et_schema::parse_json(json_value(models).dump(), source);
  const auto again = et_schema::read_json<OperatorModels>(et_schema::JsonField(document, source));
  std::size_t held = 0;
  for (const MeasuredCall& call : calls) {
    const Prediction prediction = models.predict(call.call, key);
    const double ns = call.time().median_ns;
    EXPECT_LT(prediction.ns, 1.5 * ns) << "ten times, were it lifted to the bound";
    EXPECT_DOUBLE_EQ(again.predict(call.call, key).low_ns, prediction.low_ns);
    held += prediction.low_ns <= ns && ns <= prediction.high_ns ? 1U : 0U;
  }
  EXPECT_GE(held, calls.size() * 8 / 10);
}

/// A product of a type and a card that nobody measured, of a card by its specification alone.
Prediction product_on(const Card& on, et_schema::DType dtype) {
  OperatorModels models;
  models.add_card(on);
  const TensorLayout square{dtype, {4096, 4096}};
  return models.predict({"aten::mm", "", {square, square}, {square}},
                        {on.name, 0, TimedAs::kTimedCall});
}

TEST(Specification, ATypesPeakIsItsTensorCores) {
  Card on = synthetic::card("A");
  const double float32_ns = 2.0 * 4096 * 4096 * 4096 / on.flops * 1e9;
  const Prediction unknown = product_on(on, et_schema::DType::kBFloat16);
  EXPECT_EQ(unknown.model, "roofline bound, no peak of bfloat16");
  EXPECT_FALSE(unknown.modelled);
  EXPECT_LT(unknown.low_ns, float32_ns / 16) << "tensor cores are that much faster";
  on.flops_by_dtype[et_schema::DType::kBFloat16] = 16 * on.flops;
  const Prediction known = product_on(on, et_schema::DType::kBFloat16);
  EXPECT_EQ(known.model, "roofline bound");
  EXPECT_NEAR(known.ns, 2 * float32_ns / 16, 1e-6 * float32_ns);
  EXPECT_NEAR(known.low_ns, float32_ns / 16, 1e-6 * float32_ns);
  // float32 itself may go by tensor cores.
  EXPECT_NEAR(product_on(on, et_schema::DType::kFloat32).low_ns, float32_ns, 1e-6 * float32_ns);
  on.tf32_flops = 8 * on.flops;
  EXPECT_NEAR(product_on(on, et_schema::DType::kFloat32).low_ns, float32_ns / 8, 1e-6 * float32_ns);
}

/// Rows of large products alone, in exact proportion to their work: they tell no floor.
TEST(FewRows, NoCallIsFasterThanACallCanBe) {
  std::vector<MeasuredCall> calls;
  for (const std::int64_t n : {256, 512, 1024}) {
    const TensorLayout square{et_schema::DType::kFloat32, {n, n}};
    MeasuredCall& call = calls.emplace_back();
    call.call = {"aten::mm", "", {square, square}, {square}};
    call.device = "cpu";
    call.threads = 1;
    call.host.median_ns = 0.03 * static_cast<double>(n * n * n);
  }
  const OperatorModels models =
      fit_operator_models(calls, {synthetic::card("cpu")}, synthetic::quick_models());
  const DeviceKey host{"cpu", 1, TimedAs::kHost};
  const auto square = [&](std::int64_t n) {
    const TensorLayout tensor{et_schema::DType::kFloat32, {n, n}};
    return models.predict({"aten::mm", "", {tensor, tensor}, {tensor}}, host);
  };
  EXPECT_GE(square(1).ns, 100);
  EXPECT_GE(square(1).low_ns, 100);
  EXPECT_TRUE(square(1).extrapolated);
}

/// A profile's softmax on a device: four rows of one size.
TEST(FewRows, OfOneSizeMakeNoFloor) {
  const Card on = synthetic::card("A");
  const auto softmax = [](std::int64_t rows, std::int64_t length) {
    return named(synthetic::relu(rows, length), "aten::_softmax");
  };
  std::vector<MeasuredCall> calls(4);
  for (MeasuredCall& call : calls) {
    call.call = softmax(8192, 4096);
    call.device = "A";
    call.on_device.emplace().median_ns = 670000;
  }
  const OperatorModels models = fit_operator_models(calls, {on}, synthetic::quick_models());
  const DeviceKey key{"A", 0, TimedAs::kDevice};
  EXPECT_NEAR(models.predict(softmax(8192, 4096), key).ns, 670000, 1000);
  EXPECT_NEAR(models.predict(softmax(64, 10), key).ns, kLaunchNs, 200);
}

TEST(DeviceTimes, ShrinkWithTheWorkBelowTheSmallestRow) {
  const Card on = synthetic::card("A");
  std::vector<MeasuredCall> calls;
  for (std::int64_t i = 0; i < 60; ++i) {
    MeasuredCall& call = calls.emplace_back();
    call.call = synthetic::relu(1000 + 40 * i, 512);
    call.device = "A";
    call.on_device.emplace().median_ns = 30000;
  }
  const OperatorModels models = fit_operator_models(calls, {on}, synthetic::quick_models());
  const Prediction small = models.predict(synthetic::relu(10, 512), {"A", 0, TimedAs::kDevice});
  EXPECT_NEAR(small.ns, kLaunchNs + (30000 - kLaunchNs) / 100, 200) << "a hundredth of the work";
  EXPECT_EQ(small.bound_ns, kLaunchNs);
}

TEST_F(OneCard, OperatorsOfOtherLibrariesAreNamedAsUnmodelled) {
  EXPECT_TRUE(models.predict(named(synthetic::relu(200, 300), "aten::tanh"), key).modelled);
  const Prediction other = models.predict(named(synthetic::relu(200, 300), "mylib::frob"), key);
  EXPECT_FALSE(other.modelled);
  EXPECT_TRUE(other.extrapolated);
  EXPECT_GT(other.ns, 0);
}

TEST_F(OneCard, InPlaceIsTheSameOperator) {
  const OperatorCall call = synthetic::relu(2000, 300);
  EXPECT_EQ(models.predict(named(call, "aten::relu_"), key).ns, models.predict(call, key).ns);
}

TEST_F(OneCard, BeyondTheRangeItSaysSoAndIsWider) {
  const Prediction inside = models.predict(synthetic::relu(2000, 300), key);
  const Prediction beyond = models.predict(synthetic::relu(2000000, 300), key);
  EXPECT_TRUE(beyond.extrapolated);
  EXPECT_GE(beyond.high_ns / beyond.ns, inside.high_ns / inside.ns);
  const double truth = synthetic::elementwise_ns(synthetic::relu(2000000, 300), on);
  EXPECT_NEAR(beyond.ns, truth, 0.2 * truth);
}

TEST_F(OneCard, AnotherOperatorOfTheFamilyIsWider) {
  const OperatorCall call = synthetic::relu(2000, 300);
  const Prediction other = models.predict(named(call, "aten::erfinv"), key);
  EXPECT_TRUE(other.extrapolated);
  EXPECT_TRUE(other.modelled);
  EXPECT_GT(other.high_ns / other.ns,
            models.predict(call, key).high_ns / models.predict(call, key).ns);
}

TEST_F(OneCard, WhatHasNoModelGetsABoundAndIsSaidToHaveNone) {
  const TensorLayout square{et_schema::DType::kFloat32, {4096, 4096}};
  const Prediction prediction = models.predict({"aten::mm", "", {square, square}, {square}}, key);
  EXPECT_FALSE(prediction.modelled);
  EXPECT_EQ(prediction.model, "roofline bound");
  EXPECT_GE(prediction.ns, 2.0 * 4096 * 4096 * 4096 / 1e13 * 1e9);
  EXPECT_GT(prediction.high_ns, prediction.ns);
  EXPECT_GT(models.predict({"aten::view", "", {square}, {square}}, key).ns, 0);
}

TEST_F(OneCard, NothingIsFasterThanTheRoofline) {
  for (const std::int64_t rows : {1, 100, 10000, 1000000, 100000000}) {
    const OperatorCall call = synthetic::relu(rows, 512);
    const Prediction prediction = models.predict(call, key);
    const double bytes = 2 * stored_bytes(call.inputs[0]);
    if (bytes > on.l2_bytes) {
      EXPECT_GE(prediction.low_ns, bytes / on.bandwidth_bytes_per_s * 1e9 * 0.999);
    }
    EXPECT_LE(prediction.low_ns, prediction.ns);
    EXPECT_LE(prediction.ns, prediction.high_ns);
  }
}

TEST_F(OneCard, ADeviceThatNobodyKnowsIsRefused) {
  EXPECT_EQ(error_of([&] {
              return models.predict(synthetic::relu(2, 2), {"B", 0, TimedAs::kTimedCall});
            }),
            "nothing is known of this device\n  got:      B, timed_call");
}

TEST(SeveralCards, ACardThatWasNotMeasuredIsPredictedFromItsSpecification) {
  const Card a = synthetic::card("A");
  const Card b = synthetic::card("B", 2);
  std::vector<MeasuredCall> calls = synthetic::elementwise(a, 350);
  for (MeasuredCall& call : synthetic::elementwise(b, 350)) {
    calls.push_back(call);
  }
  OperatorModels models = fit_operator_models(calls, {a, b}, synthetic::quick_models());
  const Card fast = synthetic::card("C", 4);
  models.add_card(fast);
  const OperatorCall call = synthetic::relu(8000, 2000);
  const Prediction prediction = models.predict(call, {"C", 0, TimedAs::kTimedCall});
  const double truth = synthetic::elementwise_ns(call, fast);
  EXPECT_NEAR(prediction.ns, truth, 0.15 * truth);
  EXPECT_TRUE(prediction.extrapolated);
  EXPECT_EQ(prediction.model, "other cards");
}

/// A's and B's times deviate from one law by different factors.
TEST(SeveralCards, ACardOfAMeasuredDataSheetIsPredictedAsThatCard) {
  std::vector<MeasuredCall> calls;
  std::vector<Card> cards;
  for (const auto& [name, speed, factor] :
       {std::tuple{"A", 1.0, 1.0}, {"B", 1.5, 1.5}, {"C", 3.0, 0.8}}) {
    cards.push_back(synthetic::card(name, speed));
    for (MeasuredCall& call : synthetic::elementwise(cards.back(), 350)) {
      call.timed_call->median_ns *= factor;
      calls.push_back(call);
    }
  }
  OperatorModels models = fit_operator_models(calls, cards, synthetic::quick_models());
  models.add_card(synthetic::card("the same as B", 1.5));
  models.add_card(synthetic::card("between", 1.2));
  for (const std::int64_t rows : {8, 300, 8000}) {
    const auto on = [&](const char* name) {
      return models.predict(synthetic::relu(rows, 500), {name, 0, TimedAs::kTimedCall});
    };
    EXPECT_NEAR(std::log(on("the same as B").ns / on("B").ns), 0, 0.01) << rows;
    EXPECT_GT(on("between").high_ns, 1.1 * on("between").ns) << "as others were missed";
  }
}

TEST(SeveralCards, AFewCallsOfItsOwnCorrectIt) {
  const Card a = synthetic::card("A");
  const Card b = synthetic::card("B", 2);
  const Card c = synthetic::card("C", 4);
  std::vector<MeasuredCall> calls = synthetic::elementwise(a, 350);
  for (MeasuredCall& call : synthetic::elementwise(b, 350)) {
    calls.push_back(call);
  }
  std::size_t own = 0;
  for (MeasuredCall& call : synthetic::elementwise(c, 400)) {
    if (call.time().median_ns > 21000 && own < 12) {
      call.timed_call->median_ns *= 1.5;  // its specification does not explain it
      calls.push_back(call);
      ++own;
    }
  }
  const OperatorModels models = fit_operator_models(calls, {a, b, c}, synthetic::quick_models());
  const OperatorCall call = synthetic::relu(8000, 2000);
  const Prediction prediction = models.predict(call, {"C", 0, TimedAs::kTimedCall});
  const double truth = 1.5 * synthetic::elementwise_ns(call, c);
  EXPECT_NEAR(prediction.ns, truth, 0.15 * truth);
  EXPECT_LE(prediction.low_ns, truth);
  EXPECT_GE(prediction.high_ns, truth);
}

TEST(Peaks, AreTakenFromTheFastestRowsAndSaidToBe) {
  Card card;
  card.name = "X";
  const Card law = synthetic::card("X");
  std::vector<const MeasuredCall*> rows;
  const std::vector<MeasuredCall> calls = synthetic::elementwise(law, 300);
  for (const MeasuredCall& call : calls) {
    rows.push_back(&call);
  }
  const Card found = with_measured_peaks(card, rows);
  EXPECT_NEAR(found.bandwidth_bytes_per_s, 0.8 * law.bandwidth_bytes_per_s,
              0.1 * law.bandwidth_bytes_per_s);
  EXPECT_EQ(found.source, "cache, processors, FLOPs guessed, bandwidth from measured calls");
  EXPECT_EQ(with_measured_peaks(law, rows), law) << "what is specified stays";
}

}  // namespace
}  // namespace understudy::predictor
