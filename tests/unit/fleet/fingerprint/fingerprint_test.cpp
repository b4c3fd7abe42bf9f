#include "fleet/fingerprint/fingerprint.h"

#include <gtest/gtest.h>

#include "et_schema/base/json_record.h"
#include "testing/error_text.h"
#include "testing/made_program.h"

namespace understudy::fleet {
namespace {

using et_schema::Argument;
using et_schema::Bench;
using et_schema::SlotId;

class BenchMaker {
 public:
  SlotId slot(std::vector<std::int64_t> sizes, bool external) {
    return testing_programs::add_tensor(program_, std::move(sizes), external);
  }

  void call(const std::string& name, SlotId in, SlotId out, std::int64_t host_ns) {
    et_schema::Instruction instruction;
    instruction.name = name;
    instruction.args = {Argument{Argument::SlotRef{in}}};
    instruction.results = {Argument{Argument::SlotRef{out}}};
    if (host_ns > 0) {
      instruction.timing = et_schema::Timing{.host_ns = host_ns};
    }
    program_.instructions.push_back(std::move(instruction));
  }

  Bench bench() {
    Bench made;
    made.programs = {program_};
    return made;
  }

 private:
  et_schema::Program program_;
};

Fingerprint print_of(std::int64_t rows, std::int64_t mm_ns, std::int64_t relu_ns) {
  BenchMaker maker;
  const SlotId in = maker.slot({rows, 8}, true);
  const SlotId middle = maker.slot({rows, 4}, false);
  const SlotId out = maker.slot({rows, 4}, false);
  maker.call("aten::mm", in, middle, mm_ns);
  maker.call("aten::relu", middle, out, relu_ns);
  return fingerprint_of(maker.bench());
}

TEST(Fingerprints, TellSharesCallsShapesAndMemory) {
  const Fingerprint print = print_of(16, 300, 100);
  EXPECT_TRUE(print.is_timed);
  EXPECT_DOUBLE_EQ(print.class_share.at("matmul"), 0.75);
  EXPECT_DOUBLE_EQ(print.class_share.at("elementwise"), 0.25);
  EXPECT_EQ(print.operators.at("aten::mm").calls, 1U);
  EXPECT_EQ(print.operators.at("aten::mm").shapes, "16×8");
  EXPECT_EQ(print.external_bytes, 16U * 8 * 4);
  EXPECT_EQ(print.live_peak_bytes, 2U * 16 * 4 * 4);
}

TEST(Fingerprints, WithoutRecordedTimesSharesAreOfCalls) {
  const Fingerprint print = print_of(16, 0, 0);
  EXPECT_FALSE(print.is_timed);
  EXPECT_DOUBLE_EQ(print.class_share.at("matmul"), 0.5);
}

Fingerprint read_print(const std::string& text) {
  const et_schema::JsonSource source{"job", "the fingerprint cannot be read", ""};
  const nlohmann::json document = et_schema::parse_json(text, source);
  return et_schema::read_json<Fingerprint>(et_schema::JsonField(document, source));
}

TEST(Fingerprints, ComeBackFromTheirText) {
  Fingerprint print = print_of(16, 300, 100);
  print.collectives["allreduce"] = {3, 4096};
  print.step_ms = 1.5;
  const std::string text = et_schema::json_of(print).dump();
  EXPECT_EQ(et_schema::json_of(read_print(text)).dump(), text);
}

TEST(Fingerprints, OtherTextsAreRefused) {
  EXPECT_EQ(
      error_of([&] { return read_print(R"({"format":"understudy-fingerprint","version":1})"); }),
      "the fingerprint cannot be read\n"
      "  file:     job\n"
      "  field:    world_size\n"
      "  expected: this key\n"
      "  got:      none");
}

TEST(Drifts, TheSameWorkHasNone) {
  const Drift drift = drift_between(print_of(16, 300, 100), print_of(16, 300, 100));
  EXPECT_EQ(drift.distance, 0);
  EXPECT_EQ(sentence_of(drift), "nothing moved");
}

TEST(Drifts, SayWhatMoved) {
  const Drift drift = drift_between(print_of(16, 300, 100), print_of(64, 300, 300));
  EXPECT_DOUBLE_EQ(drift.moves.front().distance, drift.distance);
  EXPECT_EQ(sentence_of(drift),
            "aten::mm 16×8 → 64×8, memory 1.0 KiB → 4.0 KiB, elementwise 25 → 50 % of the time");
}

TEST(Drifts, ASmallStepIsASmallDistance) {
  EXPECT_LT(drift_between(print_of(1000, 300, 100), print_of(1010, 300, 101)).distance, 0.02);
}

TEST(Drifts, AProfileThatIsMissingIsNoDrift) {
  const Drift drift = drift_between(print_of(16, 900, 100), print_of(16, 0, 0));
  EXPECT_EQ(drift.distance, 0) << sentence_of(drift);
  const Drift shape = drift_between(print_of(16, 0, 0), print_of(64, 900, 100));
  EXPECT_EQ(sentence_of(shape), "aten::mm 16×8 → 64×8, memory 1.0 KiB → 4.0 KiB");
}

TEST(Drifts, NothingInCommonIsOne) {
  BenchMaker other;
  const SlotId in = other.slot({4}, true);
  other.call("aten::sort", in, other.slot({4}, false), 10);
  EXPECT_DOUBLE_EQ(drift_between(print_of(16, 300, 100), fingerprint_of(other.bench())).distance,
                   1);
}

}  // namespace
}  // namespace understudy::fleet
