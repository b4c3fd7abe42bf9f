// Passes that count: planted sources, and what a report makes of them.

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "fixture.h"
#include "forwarding_backend.h"
#include "meeting.h"
#include "replayer/counters/source.h"
#include "replayer/measure/measure.h"

namespace understudy::replayer::testing {
namespace {

using et_schema::Counters;

constexpr const char* kIncreaseInPlace =
    "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)";
constexpr const char* kScaleInPlace =
    "aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)";
constexpr std::size_t kCallsOfStep = 3;
constexpr int kPlantedRounds = 3;

/// Where a planted source is in its work.
struct PlantedPlace {
  std::size_t round = 0;
  std::size_t ranges = 1;  ///< 1: an iteration, kCallsOfStep: the calls of one
  std::size_t range = 0;
};

/// Returns planted values, and writes down how it is used.
class PlantedSource : public CounterSource {
 public:
  std::vector<std::string> has = {"instructions", "cycles", "ipc"};
  bool counts_single_calls = true;
  double least = 0;
  std::size_t passes = 1;
  std::function<Counters(const PlantedPlace&)> values = [](const PlantedPlace&) {
    return Counters{{"instructions", 600}, {"cycles", 300}, {"ipc", 2}};
  };
  std::function<void(const std::string& used)> on_use = [](const std::string&) {};
  std::vector<std::string> asked;
  std::map<std::string, int> uses;

  std::vector<std::string> names() const override { return has; }
  std::vector<std::string> call_names() const override {
    return counts_single_calls ? has : std::vector<std::string>();
  }
  double least_ms() const override { return least; }
  std::size_t prepare(const std::vector<std::string>& names, std::size_t ranges) override {
    use("prepare");
    asked = names;
    counted_.assign(ranges, {});
    const bool has_some = std::ranges::any_of(
        names, [this](const std::string& name) { return std::ranges::count(has, name) > 0; });
    return has_some ? passes : 0;
  }
  void begin_pass() override { use("begin_pass"); }
  void begin_range(std::size_t range) override {
    range_ = range;
    use("begin_range");
  }
  void end_range() override {
    use("end_range");
    counted_.at(range_) = values({rounds_[counted_.size()], counted_.size(), range_});
  }
  void end_pass() override { use("end_pass"); }
  std::vector<Counters> take() override {
    use("take");
    ++rounds_[counted_.size()];
    return counted_;
  }

 private:
  void use(const std::string& what) {
    ++uses[what];
    on_use(what);
  }

  std::vector<Counters> counted_;
  std::size_t range_ = 0;
  std::map<std::size_t, std::size_t> rounds_;  ///< by number of ranges
};

/// x ← x + 1 twice, and y ← y · 1.
class CounterPassesTest : public ReplayerTest {
 protected:
  CounterPassesTest() {
    options_.asked.warmup = 1;
    options_.asked.iterations = 20;
    options_.asked.passes = 2;
    options_.asked.counters = {"instructions", "cycles", "ipc"};
    options_.asked.monitor.stop_signal = &signal_;
    options_.asked.monitor.progress = [this](const PhaseProgress& at) {
      if (phases_.empty() || phases_.back() != at.phase) {
        phases_.push_back(at.phase);
      }
      on_progress_(at);
    };
    sources_.push_back({"planted", std::make_unique<PlantedSource>(), ""});
  }

  PlantedSource& planted(std::size_t i = 0) {
    return static_cast<PlantedSource&>(*sources_[i].source);
  }
  et_schema::RankReport measure() {
    x_ = builder_.external(DType::kFloat32, {4}, constant(0));
    const SlotId one = builder_.external(DType::kFloat32, {4}, constant(1));
    const SlotId y = builder_.external(DType::kFloat32, {4}, constant(1));
    builder_.add_op(kIncreaseInPlace, {ref(x_), ref(one), number(1)}, {ref(x_)});
    builder_.add_op(kScaleInPlace, {ref(y), ref(one)}, {ref(y)});
    builder_.add_op(kIncreaseInPlace, {ref(x_), ref(one), number(1)}, {ref(x_)});
    try_out();
    options_.open_sources = [this] { return std::span(sources_); };
    et_schema::RankReport report;
    report.rank = backend_->rank();
    Measurement measurement(builder_.program(), result_.program, *machine_, *externals_, *backend_,
                            options_);
    measurement.run(report);
    rows_ = measurement.take_instruction_times();
    return report;
  }
  double x() { return slot(x_)[0].item<double>(); }
  static const Counters& counters_of(const std::string& name, const et_schema::RankReport& report) {
    return std::ranges::find(report.operators, name, &et_schema::OperatorTime::name)->counters;
  }

  MeasureOptions options_;
  std::vector<OpenedSource> sources_;
  std::atomic<int> signal_ = 0;
  std::vector<Phase> phases_;
  std::function<void(const PhaseProgress&)> on_progress_ = [](const PhaseProgress&) {};
  std::vector<et_schema::MeasuredCall> rows_;
  SlotId x_ = 0;
};

TEST_F(CounterPassesTest, AreMadeAfterAllThatIsTimed) {
  const et_schema::RankReport report = measure();
  EXPECT_EQ(phases_, (std::vector<Phase>{Phase::kValues, Phase::kWarmUp, Phase::kIterations,
                                         Phase::kTimingPasses, Phase::kCounterPasses}));
  EXPECT_EQ(report.iteration_ms.samples.size(), 20U);
  EXPECT_EQ(report.measurement.timing_passes, 2U);
  EXPECT_EQ(report.counter_sources.at("planted"), et_schema::kCounted);
  // A pass of the iteration and one of the calls in each round.
  EXPECT_EQ(planted().uses,
            (std::map<std::string, int>{{"prepare", 2 * kPlantedRounds},
                                        {"begin_pass", 2 * kPlantedRounds},
                                        {"begin_range", (1 + kCallsOfStep) * kPlantedRounds},
                                        {"end_range", (1 + kCallsOfStep) * kPlantedRounds},
                                        {"end_pass", 2 * kPlantedRounds},
                                        {"take", 2 * kPlantedRounds}}));
}

TEST_F(CounterPassesTest, AreNotMadeUnlessAskedFor) {
  options_.asked.counters.clear();
  const et_schema::RankReport report = measure();
  EXPECT_EQ(phases_.back(), Phase::kTimingPasses);
  EXPECT_TRUE(planted().uses.empty());
  EXPECT_FALSE(report.counter_sources.contains("planted"));
}

TEST_F(CounterPassesTest, GiveMediansAndSpreadsOfWhatDiffersByRound) {
  planted().values = [](const PlantedPlace& at) {
    const auto round = static_cast<double>(at.round);
    return at.ranges == 1 ? Counters{{"instructions", 1000 + 10 * round}}
                          : Counters{{"instructions", 100 * (round + 1)}, {"cycles", 50}};
  };
  const et_schema::RankReport report = measure();
  EXPECT_EQ(report.counters.at("instructions"), 1010);
  EXPECT_NEAR(report.counter_spreads.at("instructions"), 16, 1e-9);  // 1018 − 1002
  EXPECT_EQ(counters_of("aten::add_.Tensor", report),
            (Counters{{"instructions", 400}, {"cycles", 100}}));
  EXPECT_EQ(counters_of("aten::mul_.Tensor", report),
            (Counters{{"instructions", 200}, {"cycles", 50}}));
}

TEST_F(CounterPassesTest, AreAsManyAsTheSourceNeeds) {
  planted().passes = 4;
  measure();
  EXPECT_EQ(planted().uses["begin_pass"], 4 * 2 * kPlantedRounds);
  EXPECT_EQ(planted().uses["take"], 2 * kPlantedRounds);
}

TEST_F(CounterPassesTest, AllBeginWithTheSameInputs) {
  std::vector<double> seen;
  planted().passes = 2;
  planted().on_use = [&](const std::string& what) {
    if (what == "begin_range") {
      seen.push_back(x());
    }
  };
  options_.asked.restores = false;
  measure();
  std::vector<double> expected(2 * kPlantedRounds, 0);  // iterations, then calls
  for (int pass = 0; pass < 2 * kPlantedRounds; ++pass) {
    expected.insert(expected.end(), {0, 1, 1});
  }
  EXPECT_EQ(seen, expected);
}

TEST_F(CounterPassesTest, RepeatIterationsForASourceThatNeedsLongRanges) {
  options_.asked.restores = false;
  planted().least = 5;
  planted().counts_single_calls = false;
  double iterations = 0;
  planted().values = [&](const PlantedPlace&) {
    iterations = x() / 2;
    return Counters{{"instructions", 7 * iterations}, {"ipc", 1.5}};
  };
  const et_schema::RankReport report = measure();
  EXPECT_GT(iterations, 1);
  EXPECT_NEAR(report.counters.at("instructions"), 7, 1e-9);
  EXPECT_NEAR(report.counter_spreads.at("instructions"), 0, 1e-9);
  EXPECT_EQ(report.counters.at("ipc"), 1.5);
  EXPECT_TRUE(report.operators[0].counters.empty());
}

TEST_F(CounterPassesTest, LeaveOutWhatARangeLacks) {
  planted().values = [](const PlantedPlace& at) {
    Counters counters = {{"cycles", 10}};
    const bool overflows = at.ranges == 1 ? at.round == 1 : at.range == 0;
    if (!overflows) {
      counters["instructions"] = static_cast<double>(at.round);
    }
    return counters;
  };
  const et_schema::RankReport report = measure();
  EXPECT_EQ(report.counters.at("instructions"), 1);  // of rounds 0 and 2
  EXPECT_EQ(counters_of("aten::add_.Tensor", report), (Counters{{"cycles", 20}}));
  EXPECT_EQ(counters_of("aten::mul_.Tensor", report),
            (Counters{{"instructions", 1}, {"cycles", 10}}));
}

TEST_F(CounterPassesTest, GoOnWithoutASourceThatVanishes) {
  planted().on_use = [&](const std::string& what) {
    if (what == "end_range" && planted().uses["end_range"] == kPlantedRounds + 2) {
      throw et_schema::run_failed("the counters vanished", {.got = "another tool took them"});
    }
  };
  sources_.push_back({"other", std::make_unique<PlantedSource>(), ""});
  planted(1).has = {"cycles"};
  planted(1).values = [](const PlantedPlace&) { return Counters{{"cycles", 30}}; };
  const et_schema::RankReport report = measure();
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.counter_sources.at("planted"), "the counters vanished: another tool took them");
  EXPECT_EQ(report.counter_sources.at("other"), et_schema::kCounted);
  EXPECT_EQ(report.counters.at("instructions"), 600);  // counted before
  EXPECT_EQ(counters_of("aten::mul_.Tensor", report), (Counters{{"cycles", 30}}));
}

TEST_F(CounterPassesTest, DoNotCountAnIterationTwice) {
  sources_.push_back({"other", std::make_unique<PlantedSource>(), ""});
  sources_.push_back({"absent", nullptr, "no driver"});
  planted(1).counts_single_calls = false;
  const et_schema::RankReport report = measure();
  EXPECT_TRUE(planted(1).uses.empty());
  EXPECT_FALSE(report.counter_sources.contains("other"));
  EXPECT_EQ(report.counter_sources.at("absent"), "no driver");
}

TEST_F(CounterPassesTest, OfSingleInstructionsNeedNoNames) {
  options_.asked.counters.clear();
  options_.asked.operator_times = true;
  planted().values = [](const PlantedPlace& at) {
    return Counters{{"minor_faults", 10 + static_cast<double>(at.range)}};
  };
  planted().has = {"minor_faults"};
  const et_schema::RankReport report = measure();
  EXPECT_EQ(planted().asked, (std::vector<std::string>{"minor_faults"}));
  ASSERT_EQ(rows_.size(), kCallsOfStep);
  for (std::size_t i = 0; i < kCallsOfStep; ++i) {
    EXPECT_EQ(rows_[i].counters, (Counters{{"minor_faults", 10 + static_cast<double>(i)}}));
  }
  EXPECT_TRUE(report.counter_spreads.empty());
}

TEST_F(CounterPassesTest, EndAtASignalAndKeepWhatWasTimed) {
  on_progress_ = [this](const PhaseProgress& at) {
    if (at.phase == Phase::kCounterPasses && at.done == 2) {
      signal_ = SIGTERM;
    }
  };
  const et_schema::RankReport report = measure();
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.measurement.ended_by, "SIGTERM");
  EXPECT_EQ(report.iteration_ms.samples.size(), 20U);
  EXPECT_EQ(report.measurement.timing_passes, 2U);
  EXPECT_FALSE(report.counters.contains("ipc"));
}

/// A rank in a thread of this process.
class OneOfTwo : public ForwardingBackend {
 public:
  OneOfTwo(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}
  int rank() const override { return rank_; }
  int world_size() const override { return meeting_.ranks(); }
  std::vector<std::string> all_gather_text(const std::string& text) override {
    return meeting_.exchange(rank_, text);
  }
  void barrier() override { static_cast<void>(meeting_.exchange(rank_, "")); }

 private:
  Meeting& meeting_;
  int rank_;
};

class RankOfTwo : public CounterPassesTest {
 public:
  RankOfTwo(Meeting& meeting, int rank) {
    backend_ = std::make_unique<OneOfTwo>(meeting, rank);
    options_.asked.monitor.stop_signal = nullptr;
  }
  void TestBody() override {}
  using CounterPassesTest::measure;
  using CounterPassesTest::options_;
  using CounterPassesTest::planted;
  using CounterPassesTest::sources_;
};

/// Measures both ranks; `prepare` changes a rank before.
et_schema::Report measure_two(const std::function<void(int rank, RankOfTwo&)>& prepare) {
  Meeting meeting(2);
  std::vector<et_schema::RankReport> reports(2);
  const auto run = [&](int rank) {
    RankOfTwo test(meeting, rank);
    prepare(rank, test);
    reports[static_cast<std::size_t>(rank)] = test.measure();
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  return et_schema::merge(std::move(reports), {}, {});
}

TEST(CounterPassesOfRanks, GoOnWhereOneRankIsRefused) {
  const et_schema::Report report = measure_two([](int rank, RankOfTwo& test) {
    if (rank == 1) {
      test.sources_[0].source.reset();
      test.sources_[0].why_not = "not permitted";
    }
    test.sources_.push_back({"other", std::make_unique<PlantedSource>(), ""});
    test.planted(1).has = {"dram_bytes"};
    test.planted(1).values = [](const PlantedPlace&) { return Counters{{"cycles", 5}}; };
  });
  EXPECT_TRUE(report.total.complete);
  EXPECT_EQ(report.ranks[0].counters.at("instructions"), 600);
  EXPECT_EQ(report.total.counter_sources.at("planted"), "rank 1: not permitted");
  EXPECT_FALSE(report.total.counters.contains("ipc"));  // a rank lacks it
}

TEST(CounterPassesOfRanks, AreAsManyOnEachRank) {
  const et_schema::Report report = measure_two([](int rank, RankOfTwo& test) {
    test.planted().passes = rank == 0 ? 1 : 3;
    if (rank == 1) {
      test.planted().on_use = [&test](const std::string& what) {
        if (what == "begin_pass" && test.planted().uses[what] == 5) {
          throw et_schema::run_failed("gone", {});
        }
      };
    }
  });
  EXPECT_EQ(report.ranks[0].counter_sources.at("planted"), et_schema::kCounted);
  EXPECT_EQ(report.total.counter_sources.at("planted"), "rank 1: gone");
  EXPECT_EQ(report.total.counters.at("instructions"), 1200);
  EXPECT_EQ(report.total.counters.at("ipc"), 2);
}

std::vector<OpenedSource> sources_with(const std::vector<std::string>& names) {
  std::vector<OpenedSource> sources;
  sources.push_back({"planted", std::make_unique<PlantedSource>(), ""});
  static_cast<PlantedSource&>(*sources[0].source).has = names;
  return sources;
}

TEST(ChosenCounters, AddTheWeightsOfMeans) {
  EXPECT_EQ(chosen_counters({"sm_active", "dram_bytes", "sm_active"}, {}),
            (std::vector<std::string>{"device_ns", "sm_active", "dram_bytes"}));
  EXPECT_EQ(chosen_counters({"default"}, {}).size(), kDefaultCounters.size());
}

std::string refusal(const std::string& name, const std::vector<OpenedSource>& sources) {
  try {
    static_cast<void>(chosen_counters({name}, sources));
  } catch (const et_schema::Error& error) {
    EXPECT_EQ(error.kind(), et_schema::ErrorKind::kUsage);
    return et_schema::to_text(error);
  }
  return "";
}

TEST(ChosenCounters, RefuseAWrongNameWithTheNearest) {
  EXPECT_EQ(refusal("sm_activ", {}),
            "unknown counter sm_activ\n"
            "  field:    --counters\n"
            "  expected: default, or names of replay --counters list\n"
            "  got:      sm_activ\n"
            "  hint:     did you mean sm_active?");
  const std::vector<OpenedSource> sources = sources_with({"dram__bytes.sum"});
  EXPECT_EQ(refusal("dram__bytes.sum", sources), "");
  EXPECT_NE(refusal("dram__byte.sum", sources).find("did you mean dram__bytes.sum?"),
            std::string::npos);
}

TEST(ChosenCounters, KeepAMakersNameThatNoSourceCanJudge) {
  EXPECT_EQ(refusal("dram__byte.sum", sources_with({"instructions"})), "");
}

}  // namespace
}  // namespace understudy::replayer::testing
