
#include <gtest/gtest.h>

#include "predictor/calls/measured_files.h"
#include "testing/error_text.h"

namespace understudy::predictor {
namespace {

constexpr const char* kHeader = "OPName,Latency,Device,";

std::vector<MeasuredCall> read(const std::string& text, Times times = Times::kRequired) {
  return calls_of(et_schema::parse_csv(text, "t.csv"), times);
}

std::string refusal(const std::string& text) {
  return error_of([&] { return read(text); });
}

/// The message about a cell.
std::string unreadable(int line, const std::string& field, const std::string& expected,
                       const std::string& got) {
  return "the table of operators cannot be read\n  file:     t.csv, line " + std::to_string(line) +
         "\n  field:    " + field + "\n  expected: " + expected + "\n  got:      " + got;
}

TEST(OperatorTable, LinearsOutputIsMByKAndNContracts) {
  const auto calls = read(std::string(kHeader) + "B,M,N,K\nlinear,0.5,V100,1,58,13,141\n");
  ASSERT_EQ(calls.size(), 1U);
  const OperatorCall& call = calls[0].call;
  EXPECT_EQ(call.name, "aten::linear");
  EXPECT_EQ(call.inputs[0].sizes, (std::vector<std::int64_t>{1, 58, 13}));
  EXPECT_EQ(call.inputs[1].sizes, (std::vector<std::int64_t>{141, 13}));
  EXPECT_EQ(call.outputs[0].sizes, (std::vector<std::int64_t>{1, 58, 141}));
  EXPECT_DOUBLE_EQ(calls[0].time().median_ns, 0.5e6);
  EXPECT_EQ(calls[0].time().n, 1U) << "column N is a size here";
  EXPECT_EQ(calls[0].device, "V100");
  EXPECT_EQ(calls[0].timed(), TimedAs::kTimedCall);
}

TEST(OperatorTable, ConvolutionsReadTheMisspeltColumn) {
  const auto calls = read(std::string(kHeader) +
                          "B,Input_Channel,Output_Channel,Kernel_Szie,Input_Size,Stride,Padding\n"
                          "conv,1,P4,2,3,8,3,11,2,1\n");
  EXPECT_EQ(calls[0].call.inputs[1].sizes, (std::vector<std::int64_t>{8, 3, 3, 3}));
  EXPECT_EQ(calls[0].call.outputs[0].sizes, (std::vector<std::int64_t>{2, 8, 6, 6}));
}

TEST(OperatorTable, OneTensorAndANumberIsAnotherOverload) {
  const auto calls = read(std::string(kHeader) + "B,H\nadd,1,P4,2,3\naddu,1,P4,2,3\n");
  EXPECT_EQ(calls[0].call.overload, "Tensor");
  EXPECT_EQ(calls[0].call.inputs.size(), 2U);
  EXPECT_EQ(calls[1].call.overload, "Scalar");
  EXPECT_EQ(calls[1].call.inputs.size(), 1U);
}

TEST(OperatorTable, AnyOperatorWithItsTensors) {
  const auto calls = read(
      "OPName,Latency,Device,Inputs,Outputs,Timed,Threads,Calls,Spread,Source,counter:energy_j\n"
      "aten::topk,2,cpu,\"bfloat16[4,5;1,4]\",\"bfloat16[4,2] int64[4,2]\",host,2,7,0.5,x,0.25\n");
  const MeasuredCall& row = calls.at(0);
  EXPECT_EQ(row.call.inputs[0].dtype, et_schema::DType::kBFloat16);
  EXPECT_EQ(row.call.inputs[0].strides, (std::vector<std::int64_t>{1, 4}));
  EXPECT_EQ(row.call.outputs.size(), 2U);
  EXPECT_EQ(row.timed(), TimedAs::kHost);
  EXPECT_EQ(row.threads, 2);
  EXPECT_EQ(row.time().n, 7U);
  EXPECT_EQ(row.counters.at("energy_j"), 0.25);
}

TEST(OperatorTable, WhatIsWrittenReadsBack) {
  const auto calls = read(
      "OPName,Latency,Device,Inputs,Outputs,Timed,Threads,Calls,Spread,counter:a b\n"
      "aten::add.Tensor,2,\"a, b\",float32[4] float32[],float32[4],device,,7,0.5,3\n"
      "aten::zero_,0.25,cpu,\"int64[2,3;3,1]\",,host,4,1,,\n");
  EXPECT_EQ(read(to_csv(calls)), calls);
}

/// As `replay --operator-times` has it, and `predict --operators` writes it.
TEST(OperatorTable, AResultBesideTheFirstMayBeEmpty) {
  const auto calls = read(
      "OPName,Latency,Device,Inputs,Outputs\n"
      "aten::_embedding_bag,1,cpu,\"float32[9,4] int64[8] int64[2]\",\"float32[2,4] int64[0] "
      "int64[2]\"\n");
  EXPECT_EQ(calls.at(0).call.outputs[1].sizes, (std::vector<std::int64_t>{0}));
  EXPECT_EQ(read(to_csv(calls)), calls);
}

TEST(OperatorTable, TimesMayBeMissingWhereTheyAreAskedFor) {
  const auto calls = read("OPName,B,H\nrelu,2,3\n", Times::kOptional);
  EXPECT_EQ(calls.at(0).time().median_ns, 0);
}

TEST(OperatorTable, ATitleMayHaveTheUnitOfItsTimes) {
  const auto calls = read("OPName,Latency (us),Device,B,H,Spread (ns)\nrelu,250,P4,2,3,500\n");
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_DOUBLE_EQ(calls[0].time().median_ns, 250e3);
  EXPECT_DOUBLE_EQ(calls[0].time().spread_ns, 500);
  EXPECT_EQ(refusal("OPName,Latency (us),Device,B,H\nrelu,0,P4,2,3\n"),
            unreadable(2, "Latency (us)", "microseconds, more than 0", "0"));
}

TEST(OperatorTable, RefusesWhatIsNoMeasurement) {
  EXPECT_EQ(refusal("OPName,Device,B,H\nadd,P4,2,3\n"),
            unreadable(1, "Latency", "a column of this title",
                       "none among \"OPName\", \"Device\", \"B\", \"H\"") +
                "\n  hint:     docs/formats.md, \"Operator tables\", lists the columns");
  EXPECT_EQ(refusal(std::string(kHeader) + "B,H\nadd,1,P4,2,3\nadd,nan,P4,2,3\n"),
            unreadable(3, "Latency", "milliseconds, more than 0", "nan"));
  EXPECT_EQ(refusal(std::string(kHeader) + "B,H\nadd,1,P4,0,3\n"),
            unreadable(2, "B", "a whole number, 1 or more", "0"));
  EXPECT_EQ(
      refusal(std::string(kHeader) + "B,H\nfrobnicate,1,P4,2,3\n"),
      unreadable(2, "OPName", "an operator such as \"aten::add.Tensor\", or a kernel table's name",
                 "frobnicate"));
  EXPECT_EQ(refusal(std::string(kHeader) + "B,H\nadd,1,P4,4294967296,4294967296\n"),
            unreadable(2, "OPName", "tensors below 2^62 bytes", "float32[4294967296,4294967296]"));
  EXPECT_EQ(
      refusal("OPName,Latency,Device,B,H\radd,1,P4,2,3\r"),
      "the table cannot be read\n  file:     t.csv, line 1\n  expected: lines that end with a "
      "line feed\n  got:      carriage returns alone");
  EXPECT_EQ(refusal(std::string(kHeader) + "Inputs,Outputs\naten::a,1,P4,float32[0],\n"),
            unreadable(2, "Inputs", "sizes of 1 or more", "float32[0]"));
  EXPECT_EQ(refusal(std::string(kHeader) + "Inputs,Outputs\naten::a,1,P4,float32[4],float32[0]\n"),
            unreadable(2, "Outputs", "sizes of 1 or more", "float32[0]"));
  EXPECT_EQ(refusal(std::string(kHeader) + "Inputs,Outputs\naten::a,1,P4,float32[1,\n"),
            unreadable(2, "Inputs", "tensors such as \"float32[4,5] int64[4]\"", "float32[1"));
  EXPECT_EQ(refusal(std::string(kHeader) + "B,H\nadd,1,,2,3\n"),
            unreadable(2, "Device", "the name of a card or \"cpu\"", "nothing"));
}

TEST(SparseUpdate, IsOfTheRowsThatTheGradientHolds) {
  using et_schema::DType;
  const TensorLayout table{DType::kFloat32, {1000, 8}};
  OperatorCall call{
      "aten::add_", "Tensor", {table, {DType::kFloat32, {1000, 8}, {0, 0}, 40}}, {table}};
  const std::optional<OperatorCall> update = sparse_update(call);
  ASSERT_TRUE(update.has_value());
  EXPECT_EQ(*update, (OperatorCall{"aten::index_add_",
                                   "sparse",
                                   {table, {DType::kInt64, {5}}, {DType::kFloat32, {5, 8}}},
                                   {{DType::kFloat32, {5, 8}}}}));
  call.inputs[1].stored = 8000;
  EXPECT_EQ(sparse_update(call)->outputs.front().sizes.front(), 632) << "1000 (1 - 1/e)";
  EXPECT_EQ(sparse_update(call, 20)->outputs.front().sizes.front(), 20);
  call.inputs[1].stored = 41;  // no whole rows
  EXPECT_FALSE(sparse_update(call).has_value());
  call.inputs[1].stored.reset();
  EXPECT_FALSE(sparse_update(call).has_value());
  constexpr std::int64_t kHuge = 4'000'000'000;
  call.inputs[1] = {DType::kFloat32, {1, kHuge, kHuge}, {0, 0, 0}, 40};
  EXPECT_FALSE(sparse_update(call).has_value()) << "a row of more numbers than there are";
}

TEST(OperatorTimesRows, DeviceTimesWhereThereAreAnyAndNoCommunication) {
  et_schema::OperatorTimes times;
  times.device = "NVIDIA L4";
  times.threads = 2;
  const auto row = [&](et_schema::RanAs as, std::optional<et_schema::TimeStats> device) {
    et_schema::MeasuredCall time;
    time.call.name = "aten::relu";
    time.as = as;
    time.call.inputs = {{et_schema::DType::kFloat32, {4, 5}}};
    time.host = {5, 90, 100, 110, 140, 115, 40};
    time.on_device = device;
    time.counters = {{"minor_faults", 2}};
    times.rows.push_back(time);
  };
  row(et_schema::RanAs::kExact, std::nullopt);
  row(et_schema::RanAs::kSubstitute, et_schema::TimeStats{5, 9, 10, 11, 14, 11, 4});
  row(et_schema::RanAs::kCommunication, std::nullopt);
  row(et_schema::RanAs::kStub, std::nullopt);
  row(et_schema::RanAs::kExact, std::nullopt);
  times.rows.back().conditions = {.call = "relu", .is_cold = true, .threads = 1};
  const auto calls = calls_of(times, "x.jsonl");
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0].device, "cpu");
  EXPECT_EQ(calls[0].threads, 2);
  EXPECT_EQ(calls[0].timed(), TimedAs::kHost);
  EXPECT_EQ(calls[0].time().median_ns, 110);
  EXPECT_EQ(calls[0].time().spread_ns, 40);
  EXPECT_EQ(calls[0].counters, (std::map<std::string, double>{{"minor_faults", 2}}));
  EXPECT_EQ(calls[1].device, "NVIDIA L4");
  EXPECT_EQ(calls[1].timed(), TimedAs::kDevice);
  EXPECT_EQ(calls[1].time().median_ns, 11);
  EXPECT_EQ(calls[2].threads, 1) << "a calibration's row";
}

}  // namespace
}  // namespace understudy::predictor
