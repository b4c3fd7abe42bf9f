#include "et_schema/formats/capture/capture.h"

#include <gtest/gtest.h>

#include "et_schema/model/original_step.h"
#include "testing/error_text.h"

namespace understudy::et_schema {
namespace {

const std::string kWhole =
    R"({"format":"understudy-capture","version":1,"id":"ab","world_size":2,"ranks":[)"
    R"({"rank":0,"files":["rank-0.et.json.gz"],"trace":{"pid":7,"start_ts":3},)"
    R"("step_ns":[40,10,20,30],"cpu_ns_in_timed_steps":10000000,"step_minor_faults":[5,1,3],"kineto_only_minor_faults":[4],)"
    R"("observer_ns":{"kineto_event":250.5,"kineto_launch":null,"et_node":5000},)"
    R"("untouched_tensor_bytes":null,"kernel_settings":{},"environment":{"variables":{}}},)"
    R"({"rank":1,"files":[],"trace":null,"step_ns":[7,9,8,8,7,9],"step_minor_faults":[],)"
    R"("kineto_only_minor_faults":[],"observer_ns":null,)"
    R"("untouched_tensor_bytes":{"cpu":4096,"cuda:0":12},"kernel_settings":{"sdp.flash":"off"},)"
    R"("environment":{"torch":"2.11.0","variables":{"NCCL_ALGO":"Ring"}}}]})";

std::string refusal(const std::string& from, const std::string& to) {
  std::string json = kWhole;
  json.replace(json.find(from), from.size(), to);
  return testing_errors::error_of([&] { return parse_capture(json, "capture.json"); });
}

TEST(Capture, IsRead) {
  ASSERT_TRUE(is_capture(kWhole));
  const Capture capture = parse_capture(kWhole, "capture.json");
  EXPECT_EQ(capture.id, "ab");
  EXPECT_EQ(capture.world_size, 2);
  ASSERT_EQ(capture.ranks.size(), 2U);
  EXPECT_EQ(capture.ranks[0].trace, (TraceMark{7, 3}));
  EXPECT_FALSE(capture.ranks[1].trace);
  EXPECT_EQ(capture.ranks[0].files, (std::vector<std::string>{"rank-0.et.json.gz"}));
  EXPECT_EQ(capture.ranks[0].median_step_ns(), 25);
  EXPECT_EQ(capture.ranks[0].median_minor_faults(), 3);
  EXPECT_EQ(capture.ranks[0].median_profiled_minor_faults(), 4);
  EXPECT_EQ(capture.ranks[0].counters, (Counters{{"cpu_ms", 2.5}, {"minor_faults", 3}}));
  EXPECT_TRUE(capture.ranks[1].counters.empty());
  EXPECT_EQ(capture.ranks[1].step_interval(), (StepInterval{7, 9}));
  ASSERT_TRUE(capture.ranks[0].observer);
  EXPECT_EQ(capture.ranks[0].observer->kineto_event_ns, 250.5);
  EXPECT_EQ(capture.ranks[0].observer->et_node_ns, 5000.0);
  EXPECT_EQ(capture.ranks[1].median_step_ns(), 8);
  EXPECT_FALSE(capture.ranks[1].observer);
  EXPECT_TRUE(capture.ranks[0].untouched_tensor_bytes.empty());
  EXPECT_EQ(capture.ranks[1].untouched_tensor_bytes,
            (std::map<std::string, std::uint64_t>{{"cpu", 4096}, {"cuda:0", 12}}));
  EXPECT_TRUE(capture.ranks[0].kernel_settings.empty());
  EXPECT_TRUE(capture.ranks[0].variables.empty());
  EXPECT_EQ(capture.ranks[1].kernel_settings,
            (std::map<std::string, std::string>{{"sdp.flash", "off"}}));
  EXPECT_EQ(capture.ranks[1].variables,
            (std::map<std::string, std::string>{{"NCCL_ALGO", "Ring"}}));
  EXPECT_FALSE(CapturedRank().median_step_ns());
}

TEST(Capture, OtherDocumentsAreNone) {
  EXPECT_FALSE(is_capture(R"({"traceEvents":[]})"));
  EXPECT_FALSE(is_capture(""));
}

TEST(Capture, WhatMustBeRefused) {
  const std::string start =
      "the capture's description cannot be read\n  file:     capture.json\n  field:    ";
  const std::string hint =
      "\n  hint:     capture again with scripts/capture, or give --profile none";
  EXPECT_EQ(refusal("\"id\":\"ab\",", ""),
            start + "id\n  expected: this key\n  got:      none" + hint);
  EXPECT_EQ(refusal("\"rank\":1", "\"rank\":0"),
            start + "ranks[1].rank\n  expected: 1 or more\n  got:      0" + hint);
  EXPECT_EQ(
      refusal("[7,9,8,8,7,9]", "[7,\"9\"]"),
      start + "ranks[1].step_ns[1]\n  expected: an integer of 64 bits\n  got:      \"9\"" + hint);
  EXPECT_EQ(refusal("4096", "9223372036854775808"),
            start +
                "ranks[1].untouched_tensor_bytes.cpu\n  expected: a number of bytes below 2^63\n"
                "  got:      9223372036854775808" +
                hint);
}

}  // namespace
}  // namespace understudy::et_schema
