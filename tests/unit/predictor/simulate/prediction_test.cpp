#include "et_schema/formats/prediction/prediction.h"

#include <gtest/gtest.h>

#include <cmath>

#include "et_schema/base/error.h"
#include "hand_made.h"
#include "predictor/simulate/assessment.h"
#include "predictor/simulate/predict.h"

namespace understudy::predictor {
namespace {

using testing::HandMade;
using testing::round_times;

et_schema::Prediction sample(const Job& job, const HandMade& made) {
  et_schema::Prediction prediction = prediction_of(job, simulate(job, made, round_times()));
  prediction.tool_version = "0.1.0";
  prediction.benchmark = "bench.et";
  prediction.benchmark_hash = "0123456789abcdef";
  prediction.platform = {{"costs", "made"}};
  prediction.assumptions = {"nothing"};
  prediction.without_what_if_ms = 1.5;
  prediction.what_if = {{"matmul x2", {{"aten::mm", 2, 1, 2}}}};
  prediction.ranks[0].recorded_step = {1, 2, 3};
  return prediction;
}

void make_job(HandMade& made) {
  for (int rank = 0; rank < 2; ++rank) {
    made.begin_program();
    const auto x = made.cuda();
    made.op("aten::mm", {}, {x}, {.host_ns = 2, .device_ns = 100 + 50 * rank});
    made.comm(CommKind::kAllReduce, {x}, 2, 30, true);
    made.op("aten::add", {x}, {made.cuda()}, {.host_ns = 2, .device_ns = 10});
  }
}

/// 100 events of 1 ns in a step of 1000 ns, all of which is the host's.
TEST(Predictions, KnowThatAnObserversCostIsAnEstimate) {
  HandMade made;
  made.begin_program();
  made.op("aten::mm", {}, {made.cpu()}, {.host_ns = 1000});
  made.program().profile.emplace();
  et_schema::RecordedProfile& profile = *made.program().profile;
  profile.steps = 2;
  profile.events = 200;
  profile.step_ns = 1000;
  profile.observer_ns_per_event = 1;
  profile.observer_source = et_schema::kObserverMeasured;
  const Job job = made.job();
  et_schema::Prediction prediction = prediction_of(job, simulate(job, made, round_times()));
  const double low_ms = prediction.iteration_ms.low;
  widen_by_observer(job, prediction);
  EXPECT_DOUBLE_EQ(prediction.iteration_ms.low, low_ms);
  EXPECT_TRUE(prediction.assumptions.empty());
  profile.observer_source = "the cheapest events of the profile";
  widen_by_observer(job, prediction);
  EXPECT_NEAR(prediction.iteration_ms.low, 1e-3 * (1 - std::hypot(kSimulatorSpread, 0.1)), 1e-9);
  EXPECT_EQ(prediction.assumptions.size(), 1);
}

TEST(Predictions, DoNotContradictTheRecordedStep) {
  HandMade made;
  make_job(made);
  const Job job = made.job();
  et_schema::Prediction prediction = prediction_of(job, simulate(job, made, round_times()));
  const et_schema::Interval before = prediction.iteration_ms;
  std::vector<et_schema::PredictedRank> played = prediction.ranks;
  played[0].recorded_step = {.predicted_ms = 100, .recorded_ms = 98};
  widen_by_recorded_steps(job, played, prediction);
  EXPECT_DOUBLE_EQ(prediction.iteration_ms.low, before.low) << "within the simulator's own spread";
  EXPECT_TRUE(prediction.assumptions.empty());
  played[1].recorded_step = {.predicted_ms = 141, .recorded_ms = 100};
  widen_by_recorded_steps(job, played, prediction);
  EXPECT_LE(prediction.iteration_ms.low, before.value * 100 / 141);
  EXPECT_DOUBLE_EQ(prediction.iteration_ms.high, before.high);
  EXPECT_EQ(
      prediction.assumptions,
      (std::vector<std::string>{"the recorded step of rank 1 took 100.000 ms and is played as "
                                "141.000: the interval reaches as far down"}));
  played[0].iteration_ms = 10;
  played[0].recorded_step->unprofiled_ms = 12;
  widen_by_recorded_steps(job, played, prediction);
  EXPECT_GE(prediction.iteration_ms.high, before.value * 1.2);
  EXPECT_EQ(prediction.assumptions.at(1),
            "the unprofiled step of rank 0 took 12.000 ms and is played as 10.000: the interval "
            "reaches as far up");
}

TEST(Predictions, SayWhatAnIterationConsistsOf) {
  HandMade made;
  make_job(made);
  const Job job = made.job();
  const et_schema::Prediction prediction = sample(job, made);
  EXPECT_DOUBLE_EQ(prediction.iteration_ms.value, 190e-6);
  EXPECT_DOUBLE_EQ(prediction.iteration_ms.low, 190e-6 * (1 - kSimulatorSpread));
  EXPECT_DOUBLE_EQ(prediction.iteration_ms.high, 190e-6 * (1 + kSimulatorSpread));
  EXPECT_EQ(prediction.slowest_rank, 1);
  EXPECT_EQ(prediction.bound_by, "compute");
  EXPECT_DOUBLE_EQ(prediction.breakdown_ms.compute, 160e-6);
  EXPECT_DOUBLE_EQ(prediction.breakdown_ms.exposed_communication, 30e-6);
  ASSERT_EQ(prediction.classes.size(), 3);
  EXPECT_EQ(prediction.classes[0].name, "matmul");
  EXPECT_EQ(prediction.classes[1].name, "communication");
  ASSERT_EQ(prediction.critical_path.size(), 3);
  EXPECT_EQ(prediction.critical_path[0].name, "aten::mm");
  EXPECT_EQ(prediction.critical_path[0].where, "device");
  EXPECT_EQ(prediction.critical_path[1].where, "communication");
  EXPECT_DOUBLE_EQ(prediction.critical_path[1].ms, 30e-6);
}

TEST(Predictions, ComeBackFromTheirFile) {
  HandMade made;
  make_job(made);
  const Job job = made.job();
  const et_schema::Prediction prediction = sample(job, made);
  EXPECT_TRUE(et_schema::parse_prediction(to_json(prediction), "p.json") == prediction);
}

TEST(Predictions, OfANewerVersionOrDamagedAreRefused) {
  HandMade made;
  make_job(made);
  const Job job = made.job();
  const std::string text = to_json(sample(job, made));
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    try {
      static_cast<void>(et_schema::parse_prediction(other, "p.json"));
    } catch (const et_schema::Error& error) {
      EXPECT_EQ(error.kind(), et_schema::ErrorKind::kBadInput);
      return true;
    }
    return false;
  };
  EXPECT_TRUE(refused("\"version\": 1", "\"version\": 2"));
  EXPECT_TRUE(refused("understudy-prediction", "understudy-report"));
  EXPECT_TRUE(refused("\"slowest_rank\": 1", "\"slowest_rank\": \"1\""));
  EXPECT_TRUE(refused("\"predicted\"", "\"prediction\""));
  for (std::size_t size = 0; size < text.size() - 2; size += 97) {
    EXPECT_THROW(static_cast<void>(et_schema::parse_prediction(text.substr(0, size), "p.json")),
                 et_schema::Error);
  }
}

TEST(Predictions, NameWhatIsHardlyKnown) {
  class Doubtful final : public Costs {
   public:
    [[nodiscard]] OperatorCost of_operator(const et_schema::Program&,
                                           const et_schema::Instruction& at) const override {
      OperatorCost cost;
      cost.host = known(10, "roofline");
      cost.host.modelled = at.name != "my::op";
      if (at.name == "aten::add" || at.name == "aten::sum") {
        cost.launches = 1;
        cost.device = known(9000, "two_clock");
        cost.device.bound_ns = at.name == "aten::add" ? 299 : 301;
      } else if (at.name == "aten::mm") {
        cost.host.high_ns = 31;
      }
      return cost;
    }
    [[nodiscard]] Estimate of_communication(const GroupComm&) const override { return {}; }
    [[nodiscard]] Estimate of_gap(const et_schema::Program&,
                                  const et_schema::Instruction&) const override {
      return {};
    }
  };
  HandMade made;
  made.begin_program();
  for (const char* name : {"my::op", "aten::mm", "aten::add", "aten::sum"}) {
    made.op(name, {}, {made.cpu()}, {});
  }
  const Job job = made.job();
  const et_schema::Prediction prediction =
      prediction_of(job, simulate(job, Doubtful(), round_times()));
  const std::vector<et_schema::PredictedSum> expected = {
      {"aten::add", 1, 9000 * 1e-6, "above 30 times its bound"},
      {"my::op", 1, 10 * 1e-6, "no model"},
      {"aten::mm", 1, 10 * 1e-6, "not known within a factor of 3"}};
  EXPECT_EQ(prediction.doubtful, expected);
  EXPECT_EQ(verdict_of(prediction).findings.front(),
            "above 30 times its bound: 0.009 ms in aten::add");
}

TEST(Intervals, AddInQuadratureAndAShareInCommon) {
  const Contribution a{.below_ms = 3, .above_ms = 6, .model = "trees", .what = "trees (a)"};
  const Contribution b{.below_ms = 4, .above_ms = 8, .model = "trees", .what = "trees (b)"};
  const Contribution c{.below_ms = 4, .above_ms = 8, .model = "roofline", .what = "trees (b)"};
  const auto widened = [](const std::vector<Contribution>& by) {
    et_schema::Prediction prediction;
    prediction.iteration_ms = {200, 200, 200};
    widen_by_costs(by, prediction);
    return prediction;
  };
  const et_schema::Prediction together = widened({a, b});
  EXPECT_DOUBLE_EQ(together.iteration_ms.low, 200 - std::sqrt(0.75 * 25 + 0.25 * 49));
  EXPECT_DOUBLE_EQ(together.iteration_ms.high, 200 + std::sqrt(0.75 * 100 + 0.25 * 196));
  EXPECT_EQ(interval_text(together), "trees (b) 61 %, trees (a) 39 %");
  EXPECT_DOUBLE_EQ(widened({a, c}).iteration_ms.low, 195);
}

TEST(Timelines, AreChromeTraces) {
  HandMade made;
  make_job(made);
  const Job job = made.job({0, 1, 1});
  const std::string text = chrome_trace(job, simulate(job, made, round_times()));
  EXPECT_TRUE(
      text.starts_with("{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\n\"traceEvents\":["));
  EXPECT_TRUE(text.ends_with("]}\n"));
  for (const char* part :
       {"\"name\":\"rank 0\"", "\"name\":\"rank 1 and 1 like it\"",
        "\"name\":\"communication of group 'world'\"", "\"name\":\"aten::mm\"",
        "\"name\":\"allreduce (waits for ranks)\"", "\"cat\":\"kernel\"", "\"cat\":\"cpu_op\""}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace understudy::predictor
