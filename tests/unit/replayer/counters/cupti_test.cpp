#include "cupti.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cupti_host.h"
#include "fake_cupti.h"
#include "replayer/counters/source.h"
#include "replayer/device/device.h"
#include "testing/error_text.h"
#include "timed_card.h"

namespace understudy::replayer::testing {
namespace {

using et_schema::Counters;
using testing_errors::error_of;
using testing_errors::told;

constexpr const char* kSmActive = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed";
constexpr const char* kWarps = "sm__warps_launched.sum";
constexpr const char* kNotPermitted =
    "not permitted (ERR_NVGPUCTRPERM): an administrator sets NVreg_RestrictProfilingToAdminUsers=0 "
    "for the nvidia module, or grants CAP_SYS_ADMIN";

/// A played GPU with a played CUPTI.
class Cupti : public ::testing::Test {
 protected:
  Cupti() {
    setenv("UNDERSTUDY_CUPTI", UNDERSTUDY_FAKE_CUPTI, 1);
    fake_ = FakeCupti();
    fake_.metrics = {
        {kSmActive, 25}, {"dram__bytes.sum", 1000}, {"lts__t_sectors.sum", 10}, {kWarps, 7}};
  }
  ~Cupti() override {
    EXPECT_EQ(fake_.open, 0U);
    unsetenv("UNDERSTUDY_CUPTI");
  }

  static std::unique_ptr<CounterSource> open() {
    return open_cupti(open_device("cuda", std::nullopt));
  }
  /// Runs these ranges in one pass.
  static void run_pass(CounterSource& source, const std::vector<std::size_t>& ranges) {
    source.begin_pass();
    for (const std::size_t range : ranges) {
      source.begin_range(range);
      source.end_range();
    }
    source.end_pass();
  }
  static std::vector<Counters> count(CounterSource& source, const std::vector<std::string>& names,
                                     const std::vector<std::size_t>& ranges) {
    for (std::size_t pass = source.prepare(names, 4); pass > 0; --pass) {
      run_pass(source, ranges);
    }
    return source.take();
  }

  FakeCupti& fake_ = *reinterpret_cast<FakeCuptiFunction*>(
      dlsym(dlopen(UNDERSTUDY_FAKE_CUPTI, RTLD_NOW), "fake_cupti"))();
};

TEST_F(Cupti, CountsEachRangeInAsManyPassesAsItsMetricsNeed) {
  const auto source = open();
  EXPECT_EQ(source->call_names(), source->names());
  const std::vector<std::string> names = {"sm_active", "dram_bytes", "l2_bytes", "minor_faults",
                                          kWarps};
  EXPECT_EQ(source->prepare(names, 4), 2U);
  for (int repetition = 0; repetition < 2; ++repetition) {
    EXPECT_EQ(count(*source, names, {0, 2}),
              (std::vector<Counters>{
                  {{"sm_active", 0.25}, {"dram_bytes", 1000}, {"l2_bytes", 320}, {kWarps, 7}},
                  {},
                  {{"sm_active", 0.75}, {"dram_bytes", 3000}, {"l2_bytes", 960}, {kWarps, 21}},
                  {}}));
  }
  EXPECT_EQ(source->prepare({"minor_faults"}, 4), 0U);
}

TEST_F(Cupti, CountsByThemselvesWhatCannotBeCountedTogether) {
  fake_.apart = {kSmActive, kWarps};
  const auto source = open();
  EXPECT_EQ(source->prepare({"pcie_bytes"}, 4), 0U);  // GPM's
  const std::vector<std::string> names = {"dram_bytes", "sm_active", kWarps};
  EXPECT_EQ(source->prepare(names, 4), 3U);
  EXPECT_EQ(count(*source, names, {1}),
            (std::vector<Counters>{
                {}, {{"dram_bytes", 2000}, {"sm_active", 0.5}, {kWarps, 14}}, {}, {}}));
}

TEST_F(Cupti, AFusedProductAndAdditionIsTwoOperations) {
  const auto plant_sass = [&](const std::string& operation, double value) {
    fake_.metrics["sm__sass_thread_inst_executed_op_" + operation + "_pred_on.sum"] = value;
  };
  double value = 1;
  for (const char* const type : {"h", "f", "d"}) {
    for (const char* const operation : {"add", "mul", "fma"}) {
      plant_sass(std::string(type) + operation, value);
      value *= 10;
    }
  }
  const char* const tensor = "sm__ops_path_tensor_src_";
  for (const char* const types : {"bf16_dst_fp32", "fp16", "tf32_dst_fp32", "fp64", "fp8"}) {
    fake_.metrics[tensor + std::string(types) + ".sum"] = 1;
  }
  const auto source = open();
  EXPECT_EQ(count(*source, {"flop", "tensor_flop"}, {0}).front(),
            (Counters{{"flop", 211'211'211}, {"tensor_flop", 5}}));
  // GB100's instructions for pairs of FP32 elements, and the types of its tensor cores.
  plant_sass("fadd2", 1e9);
  plant_sass("fmul2", 1e10);
  plant_sass("ffma2", 1e11);
  for (const char* const types : {"fp16_dst_fp16", "fp16_dst_fp32", "fp4_fp6_fp8_dst_fp16",
                                  "fp4_fp6_fp8_dst_fp32", "fp4_dst_fp32"}) {
    fake_.metrics[tensor + std::string(types) + ".sum"] = 10;
  }
  EXPECT_EQ(count(*source, {"flop", "tensor_flop"}, {0}).front(),
            (Counters{{"flop", 422'211'211'211}, {"tensor_flop", 53}}));
}

TEST_F(Cupti, ARangeWaitsForTheDeviceAtBothEnds) {
  const auto source = open();
  EXPECT_EQ(source->prepare({"dram_bytes"}, 4), 1U);
  source->begin_pass();
  const std::uint64_t before = timed_card::calls("cudaDeviceSynchronize");
  source->begin_range(0);
  EXPECT_EQ(timed_card::calls("cudaDeviceSynchronize"), before + 1);
  source->end_range();
  EXPECT_EQ(timed_card::calls("cudaDeviceSynchronize"), before + 2);
  source->end_pass();
}

TEST_F(Cupti, NamesOursThenNvidias) {
  EXPECT_EQ(open()->names(), (std::vector<std::string>{
                                 "sm_active", "dram_bytes", "l2_bytes", "dram__bytes.sum", kWarps,
                                 "dram__throughput.avg.pct_of_peak_sustained_elapsed"}));
}

TEST_F(Cupti, DroppedRangesAndValuesThatAreNoneHaveNoEntry) {
  fake_.kept_ranges = 1;
  fake_.metrics[kSmActive] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(count(*open(), {"sm_active", "dram_bytes"}, {0, 1, 2}),
            (std::vector<Counters>{{{"dram_bytes", 1000}}, {}, {}, {}}));
}

TEST_F(Cupti, SaysWhatIsMissingIfItVanishesInTheMiddle) {
  const auto source = open();
  fake_.failures["cuptiRangeProfilerStart"] = {CUPTI_ERROR_HARDWARE_BUSY, 1};
  EXPECT_EQ(source->prepare({"sm_active", "dram_bytes", kWarps}, 4), 2U);
  run_pass(*source, {0});
  EXPECT_EQ(
      error_of(et_schema::ErrorKind::kFailed,
               [&] {
                 run_pass(*source, {0});
                 return 0;
               }),
      told("another profiler counts on this GPU (Nsight, DCGM, a PyTorch profile): end it",
           "field: cuptiRangeProfilerStart", "expected: success", "got: CUPTI_ERROR_OTHER (26)"));
}

TEST_F(Cupti, RefusesValuesOfTooFewPasses) {
  fake_.hidden_passes = 1;
  const auto source = open();
  EXPECT_EQ(
      error_of(et_schema::ErrorKind::kFailed, [&] { return count(*source, {"dram_bytes"}, {0}); }),
      told("CUPTI needs more passes than it said", "field: cupti"));
}

TEST_F(Cupti, PassesThatItDoesNotNeedCountNothing) {
  const auto source = open();
  EXPECT_EQ(source->prepare({"dram_bytes"}, 4), 1U);
  run_pass(*source, {0});
  run_pass(*source, {0});
  EXPECT_EQ(source->take().front(), (Counters{{"dram_bytes", 1000}}));
}

TEST_F(Cupti, SaysWhoCanPermitIt) {
  fake_.failures["cuptiProfilerGetCounterAvailability"] = {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES};
  EXPECT_EQ(error_of(et_schema::ErrorKind::kFailed, open),
            told(kNotPermitted, "field: cuptiProfilerGetCounterAvailability", "expected: success",
                 "got: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)"));
}

TEST_F(Cupti, SaysOfEachRefusalWhatToDo) {
  const auto line_of = [&](CUptiResult status) {
    fake_.failures["cuptiProfilerInitialize"] = {status};
    const std::vector<OpenedSource> sources =
        open_counter_sources(open_device("cuda", std::nullopt));
    const auto found = std::ranges::find(sources, "cupti", &OpenedSource::name);
    EXPECT_EQ(found->source, nullptr);
    return found->why_not;
  };
  const auto advice_of = [&](CUptiResult status) {
    const std::string line = line_of(status);
    return line.substr(0, line.find(": CUPTI_ERROR_"));  // the code's name follows
  };
  EXPECT_EQ(line_of(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES),
            std::string(kNotPermitted) + ": CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)");
  for (const CUptiResult status : {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
                                   CUPTI_ERROR_HARDWARE_BUSY, CUPTI_ERROR_DISABLED}) {
    EXPECT_EQ(advice_of(status),
              "another profiler counts on this GPU (Nsight, DCGM, a PyTorch profile): end it");
  }
  EXPECT_EQ(advice_of(CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED),
            "an instance of a GPU (MIG) has no counters: run on a whole GPU");
  EXPECT_EQ(advice_of(CUPTI_ERROR_NOT_INITIALIZED),
            "CUPTI does not reach the driver: it needs libnvperf_host.so and libnvperf_target.so "
            "beside it");
  EXPECT_EQ(advice_of(CUPTI_ERROR_INVALID_CHIP_NAME),
            "CUPTI does not know this GPU: UNDERSTUDY_CUPTI names a newer library");
  EXPECT_EQ(line_of(CUPTI_ERROR_HARDWARE), "cuptiProfilerInitialize: CUPTI_ERROR_OTHER (9)");
}

TEST_F(Cupti, SaysWhatOfTheGpuHasNoCounters) {
  using Level = CUpti_Profiler_Support_Level;
  constexpr Level kNot = CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED;
  const auto line_of = [&](Level CUpti_Profiler_DeviceSupported_Params::*field, Level level) {
    fake_.support = {};
    fake_.support.isSupported = kNot;
    fake_.support.*field = level;
    const std::string text = error_of(et_schema::ErrorKind::kFailed, open);
    return text.substr(0, text.find('\n'));
  };
  using Support = CUpti_Profiler_DeviceSupported_Params;
  EXPECT_EQ(line_of(&Support::vGpu, kNot),
            "a virtual GPU has no counters: run where the whole GPU is passed through");
  EXPECT_EQ(line_of(&Support::vGpu, CUPTI_PROFILER_CONFIGURATION_DISABLED),
            "not permitted on this virtual GPU: its hypervisor's administrator allows profiling");
  for (const auto field : {&Support::architecture, &Support::wsl, &Support::confidentialCompute}) {
    EXPECT_EQ(line_of(field, kNot),
              "CUPTI does not count on this GPU: it needs compute capability 7.5, and neither SLI, "
              "WSL nor confidential computing");
  }
}

TEST_F(Cupti, SaysWhereALibraryComesFrom) {
  const std::string no_cupti =
      "no CUPTI: torch's wheel for CUDA brings it (nvidia-cuda-cupti); UNDERSTUDY_CUPTI names "
      "another ";
  setenv("UNDERSTUDY_CUPTI", UNDERSTUDY_FAKE_NVML, 1);
  EXPECT_EQ(error_of(et_schema::ErrorKind::kFailed, open),
            told(no_cupti + UNDERSTUDY_FAKE_NVML, "field: CUPTI",
                 "expected: cuptiProfilerInitialize", "got: a library without it"));
  setenv("UNDERSTUDY_CUPTI", "/no/libcupti.so", 1);
  const std::string text = error_of(et_schema::ErrorKind::kFailed, open);
  EXPECT_EQ(text.substr(0, text.find('\n')), no_cupti + "/no/libcupti.so");
}

TEST_F(Cupti, IsOfGpusOnly) {
  const std::vector<OpenedSource> sources = open_counter_sources(c10::Device(c10::kCPU));
  const auto found = std::ranges::find(sources, "cupti", &OpenedSource::name);
  EXPECT_EQ(found->source, nullptr);
  EXPECT_EQ(found->why_not, "no GPU: the replay runs on cpu");
}

}  // namespace
}  // namespace understudy::replayer::testing
