// The counters' formulas against NVIDIA's own library, which knows the metrics of chips that are
// not there until CUDA 13.1.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "cupti_host.h"
#include "et_schema/base/error.h"
#include "et_schema/facts/counter_formulas.h"

namespace understudy::replayer::testing {
namespace {

class CuptiMetrics : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::getenv("UNDERSTUDY_CUPTI") == nullptr) {
      GTEST_SKIP() << "UNDERSTUDY_CUPTI names no CUPTI of CUDA 13.1 or older";
    }
  }

  /// Returns the metrics of the first formula that the chip has.
  static std::vector<std::string> metrics_of(const CuptiHost& host, std::string_view counter) {
    for (const et_schema::CounterFormula& formula : et_schema::counter_formulas()) {
      std::vector<std::string> metrics;
      std::ranges::transform(formula.terms, std::back_inserter(metrics),
                             &et_schema::CounterFormula::Term::metric);
      if (formula.counter == counter && host.configure(metrics)) {
        return metrics;
      }
    }
    return {};
  }
  static std::size_t passes_of(const CuptiHost& host, const std::vector<std::string>& counters) {
    std::vector<std::string> metrics;
    for (const std::string& counter : counters) {
      std::ranges::copy(metrics_of(host, counter), std::back_inserter(metrics));
    }
    return host.configure(metrics).value().passes;
  }
};

TEST_P(CuptiMetrics, EachCounterHasAFormulaOnTheChip) {
  const std::string chip = GetParam();
  const CuptiLibrary library;
  const CuptiHost host(library, chip);
  EXPECT_GT(host.metrics().size(), 2900U);
  std::vector<std::string> missing;
  for (const et_schema::CounterFormula& formula : et_schema::counter_formulas()) {
    if (metrics_of(host, formula.counter).empty() &&
        !std::ranges::count(missing, formula.counter)) {
      missing.push_back(formula.counter);
    }
  }
  const bool is_for_work = chip != "AD102" && chip != "GB202";
  EXPECT_EQ(missing, is_for_work
                         ? std::vector<std::string>{}
                         : (std::vector<std::string>{"tensor_fp64_active", "nvlink_bytes"}));
  EXPECT_FALSE(host.configure({"sm__no_such_metric.sum"}));
  EXPECT_FALSE(host.configure({"dram__bytes.sum", "pcie__read_bytes.sum"}));
}

TEST_P(CuptiMetrics, AllButOperationsNeedOnePass) {
  const CuptiLibrary library;
  const CuptiHost host(library, GetParam());
  std::vector<std::string> counters = {"device_ns",     "sm_active",   "occupancy",
                                       "tensor_active", "dram_active", "dram_bytes"};
  EXPECT_EQ(passes_of(host, counters), 1U);
  counters.emplace_back("flop");
  EXPECT_EQ(passes_of(host, counters), 2U);
  EXPECT_LE(passes_of(host, {"tensor_flop"}), std::string(GetParam()) == "GB202" ? 9U : 5U);
}

TEST_P(CuptiMetrics, AChipOfTheFutureIsRefused) {
  const CuptiLibrary library;
  EXPECT_THROW(CuptiHost(library, std::string(GetParam()) + "9"), et_schema::Error);
}

INSTANTIATE_TEST_SUITE_P(Chips, CuptiMetrics,
                         ::testing::Values("GA100", "AD102", "GH100", "GB100", "GB202"),
                         [](const auto& chip) { return std::string(chip.param); });

}  // namespace
}  // namespace understudy::replayer::testing
