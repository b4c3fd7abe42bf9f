// Counters of kernels as other profilers write them. The files in tests/cases/counters are made by
// hand after the published layouts.

#include "et_schema/formats/counted_kernels/counted_kernels.h"

#include <gtest/gtest.h>

#include "et_schema/base/input_files.h"
#include "et_schema/base/read_file.h"
#include "et_schema/facts/counter_formulas.h"
#include "testing/error_text.h"

namespace understudy::et_schema {
namespace {

using testing_errors::error_of;
using testing_errors::told;

constexpr const char* kCountersHint =
    R"(hint: docs/profiles.md, "Counters", has the commands that write them)";

std::vector<CountedKernel> counted_in(const std::string& name) {
  return parse_counted_kernels(read_file(UNDERSTUDY_CASES "/counters/" + name, process_limits()),
                               name);
}

std::string counters_refusal(const std::string& text) {
  return error_of([&] { return parse_counted_kernels(text, "c.csv"); });
}

TEST(CountedKernels, RawPageOfNsightComputeIsInBaseUnits) {
  const std::vector<CountedKernel> kernels = counted_in("ncu.csv");
  ASSERT_EQ(kernels.size(), 8U) << "two steps of four";
  EXPECT_EQ(kernels[0].kernel, "Kernel2");
  EXPECT_EQ(kernels[0].metrics,
            (Counters{{"dram__bytes_read.sum", 2.1e6},
                      {"dram__bytes_write.sum", 1'048'580},
                      {"gpu__time_duration.sum", 40'000},
                      {"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", 80.5},
                      {"sm__warps_active.avg.pct_of_peak_sustained_active", 25},
                      {"smsp__inst_executed.sum", 1'310'720}}))
      << "no properties, no rates";
  EXPECT_EQ(kernels[4].metrics.at("gpu__time_duration.sum"), 44'000);
}

TEST(CountedKernels, DispatchesOfRocprofilerAreInTheirOrder) {
  const std::vector<CountedKernel> table = counted_in("rocprof.csv");
  ASSERT_EQ(table.size(), 4U);
  EXPECT_TRUE(table[0].kernel.starts_with("void cutlass::Kernel2<")) << table[0].kernel;
  EXPECT_EQ(table[1].metrics, (Counters{{"FETCH_SIZE", 2048},
                                        {"OccupancyPercent", 75},
                                        {"WRITE_SIZE", 1024},
                                        {"device_ns", 6000}}));
  EXPECT_EQ(known_counters(table[1].metrics), (Counters{{"device_ns", 6000},
                                                        {"dram_bytes", 3 << 20},
                                                        {"dram_read_bytes", 2 << 20},
                                                        {"dram_write_bytes", 1 << 20},
                                                        {"occupancy", 0.75}}));
}

TEST(CountedKernels, MatrixOperationsOfAmdAreOf512Flop) {
  EXPECT_EQ(known_counters({{"SQ_INSTS_VALU_MFMA_MOPS_F16", 1},
                            {"SQ_INSTS_VALU_MFMA_MOPS_BF16", 2},
                            {"SQ_INSTS_VALU_MFMA_MOPS_F32", 3},
                            {"SQ_INSTS_VALU_MFMA_MOPS_F64", 4}}),
            (Counters{{"tensor_flop", 5120}}));
}

TEST(CountedKernels, TextsAreRecognised) {
  EXPECT_TRUE(has_counted_kernels("==PROF== x\n\"ID\",\"Kernel Name\"\n"));
  EXPECT_FALSE(has_counted_kernels(R"({"traceEvents":[]})"));
  EXPECT_FALSE(has_counted_kernels("Kernel Name,ID\n"));
}

TEST(CountedKernels, NumbersHaveCommasBeforeThreeDigits) {
  const std::vector<CountedKernel> kernels = parse_counted_kernels(
      "\"ID\",\"Kernel Name\",\"a__b.sum\",\"a__c.sum\",\"a__d.sum\"\n"
      "\"\",\"\",\"byte\",\"s\",\"s\"\n"
      "\"0\",\"k\",\"1,234.5\",\"9,00\",\"0,123\"\n",
      "c.csv");
  EXPECT_EQ(kernels.at(0).metrics, (Counters{{"a__b.sum", 1234.5}})) << "others of another locale";
}

TEST(CountedKernels, RefusalsNameTheFileAndTheCommand) {
  constexpr const char* kExpected =
      "expected: metrics of launched kernels, by ncu --csv --page raw or rocprofv3 --pmc";
  EXPECT_EQ(counters_refusal("==ERROR== ERR_NVGPUCTRPERM"),
            told("no counters of kernels", "file: c.csv", kExpected,
                 "got: ==ERROR== ERR_NVGPUCTRPERM", kCountersHint));
  EXPECT_EQ(counters_refusal("\"ID\",\"Kernel Name\"\n\"\",\"\"\n\"0\",\"k\"\n"),
            told("no counters of kernels", "file: c.csv", kExpected,
                 "got: \"ID\",\"Kernel Name\"?\"\",\"\"?\"0\",\"k\"?", kCountersHint));
  EXPECT_EQ(counters_refusal("\"Dispatch_Id\",\"Kernel_Name\"\n1,k\n"),
            told("no counters of kernels", "file: c.csv", "expected: a column Counter_Value",
                 "got: none", kCountersHint));
}

}  // namespace
}  // namespace understudy::et_schema
