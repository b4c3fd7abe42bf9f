// Times of single instructions: written, read back, refused.

#include "et_schema/formats/operator_times/operator_times.h"

#include <gtest/gtest.h>

#include "testing/error_text.h"

namespace understudy::et_schema {
namespace {

OperatorTimes sample() {
  OperatorTimes times{
      "0.1.0", "bench.et", "0123456789abcdef", "cuda:0", 4, 2, {{"cuda", 0, true, "DRAM", 3e12}},
      {}};
  MeasuredCall& add = times.rows.emplace_back();
  add.rank = 1;
  add.instruction = 7;
  add.node_id = 42;
  add.call.name = "aten::add";
  add.call.overload = "Tensor";
  add.op_class = "elementwise";
  const Device device{DeviceType::kCuda, 0};
  const TensorLayout contiguous{DType::kFloat32, {2, 3}, {}, {}, device};
  add.call.inputs = {contiguous, {DType::kFloat32, {2, 3}, {1, 2}, {}, device}};
  add.call.outputs = {contiguous};
  add.host = {3, 1000, 1100.5, 1500, 1900, 1466.5, 799.5};
  add.on_device = TimeStats{3, 10, 11, 15, 19, 14, 8};
  MeasuredCall& stub = times.rows.emplace_back(add);
  stub.as = RanAs::kStub;
  stub.call.inputs.clear();
  stub.on_device.reset();
  return times;
}

constexpr const char* kText =
    R"({"format":"understudy-operator-times","version":1,"tool_version":"0.1.0","benchmark":"bench.et","benchmark_hash":"0123456789abcdef","device":"cuda:0","threads":4,"world_size":2,"ceilings":[{"device":"cuda","threads":0,"kind":"bandwidth","name":"DRAM","per_s":3000000000000.0}]}
{"rank":1,"instruction":7,"node":42,"name":"aten::add","overload":"Tensor","class":"elementwise","as":"exact","inputs":[{"dtype":"float32","device":"cuda:0","sizes":[2,3]},{"dtype":"float32","device":"cuda:0","sizes":[2,3],"strides":[1,2]}],"outputs":[{"dtype":"float32","device":"cuda:0","sizes":[2,3]}],"host":{"n":3,"min_ns":1000.0,"p10_ns":1100.5,"median_ns":1500.0,"p90_ns":1900.0,"mean_ns":1466.5},"device":{"n":3,"min_ns":10.0,"p10_ns":11.0,"median_ns":15.0,"p90_ns":19.0,"mean_ns":14.0}}
{"rank":1,"instruction":7,"node":42,"name":"aten::add","overload":"Tensor","class":"elementwise","as":"stub","inputs":[],"outputs":[{"dtype":"float32","device":"cuda:0","sizes":[2,3]}],"host":{"n":3,"min_ns":1000.0,"p10_ns":1100.5,"median_ns":1500.0,"p90_ns":1900.0,"mean_ns":1466.5},"device":null}
)";

std::string times_refusal(const std::string& text) {
  return error_of([&] { return parse_operator_times(text, "times.jsonl"); });
}

/// The sample's text with one piece of it changed.
std::string with(const std::string& from, const std::string& to) {
  std::string text = kText;
  return text.replace(text.find(from), from.size(), to);
}

std::string unreadable_times(const std::string& line, const std::string& field,
                             const std::string& expected, const std::string& got) {
  return to_text(bad_input("the operator times cannot be read",
                           {.file = "times.jsonl" + line,
                            .field = field,
                            .expected = expected,
                            .got = got,
                            .hint = "make the file again with `replay --operator-times`"}));
}

TEST(OperatorTimes, AreWrittenAsLinesAndReadBack) {
  EXPECT_EQ(to_json_lines(sample()), kText);
  EXPECT_EQ(parse_operator_times(kText, "times.jsonl"), sample());
}

TEST(OperatorTimes, ASparseTensorSaysWhatItHolds) {
  OperatorTimes times = sample();
  times.rows[0].call.outputs[0].strides = {0, 0};
  times.rows[0].call.outputs[0].stored = 5;
  const std::string text = to_json_lines(times);
  EXPECT_NE(text.find(R"("sizes":[2,3],"strides":[0,0],"stored":5}],"host")"), std::string::npos);
  EXPECT_EQ(parse_operator_times(text, "times.jsonl"), times);
}

TEST(OperatorTimes, WhatWasCountedIsReadBack) {
  OperatorTimes times = sample();
  times.rows[0].counters = {{"cache_misses", 12.5}, {"minor_faults", 3}};
  const std::string text = to_json_lines(times);
  EXPECT_NE(text.find(R"("mean_ns":14.0},"counters":{"cache_misses":12.5,"minor_faults":3.0}})"),
            std::string::npos);
  EXPECT_EQ(parse_operator_times(text, "times.jsonl"), times);
}

TEST(OperatorTimes, CalibratedRowsSayUnderWhatTheyWereTimed) {
  OperatorTimes times = sample();
  times.rows.resize(1);
  times.rows[0].conditions = TimedConditions{
      .call = "aten::add.Tensor(…)", .is_cold = true, .threads = 2, .speed_probe_ms = 0.4};
  const std::string text = to_json_lines(times);
  EXPECT_EQ(parse_operator_times(text, "times.jsonl"), times);
  EXPECT_EQ(text.substr(text.find("\"conditions\"")),
            "\"conditions\":{\"call\":\"aten::add.Tensor(…)\",\"cache\":\"cold\",\"mode\":"
            "\"burst\",\"threads\":2,\"speed_probe_ms\":0.4}}\n");
  std::string other = text;
  other.replace(other.find("\"cold\""), 6, "\"tepid\"");
  EXPECT_EQ(times_refusal(other),
            unreadable_times(", line 2", "conditions.cache", "warm or cold", "\"tepid\""));
}

TEST(OperatorTimes, StatisticsOfSamplesInAnyOrder) {
  EXPECT_EQ(time_stats({30, 10, 20}), (TimeStats{3, 10, 12, 20, 28, 20, 16}));
  EXPECT_EQ(time_stats({}), std::nullopt);
}

TEST(OperatorTimes, WhatCannotBeReadIsRefusedWithItsLine) {
  EXPECT_EQ(times_refusal(""), unreadable_times("", "", "a header line and rows", "an empty file"));
  EXPECT_EQ(times_refusal(with("understudy-operator-times", "understudy-report")),
            unreadable_times(", line 1", "format", "\"understudy-operator-times\"",
                             "\"understudy-report\""));
  EXPECT_EQ(
      times_refusal(with("\"as\":\"stub\"", "\"as\":\"guess\"")),
      unreadable_times(", line 3", "as", "exact, substitute, stub or communication", "guess"));
  EXPECT_EQ(times_refusal(with("\"min_ns\":1000.0", "\"min_ns\":-1")),
            unreadable_times(", line 2", "host.min_ns", "nanoseconds, 0 or more", "-1"));
  EXPECT_EQ(times_refusal(with("\"sizes\":[2,3]", "\"sizes\":[2,\"3\"]")),
            unreadable_times(", line 2", "inputs[0].sizes[1]", "an integer of 64 bits", "\"3\""));
}

}  // namespace
}  // namespace understudy::et_schema
