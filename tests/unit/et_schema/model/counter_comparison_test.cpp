// Planted counters: which rows a comparison has, and when a difference counts.

#include "et_schema/model/counter_comparison.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "et_schema/model/report.h"

namespace understudy::et_schema {
namespace {

using Texts = std::vector<std::string>;

Texts texts_of(const std::vector<ComparedCounter>& rows) {
  Texts texts;
  for (const ComparedCounter& row : rows) {
    texts.push_back(fmt::format("{}/{} {:g} {:g} {} {}", row.op_class, row.name, row.a, row.b,
                                row.ratio ? fmt::format("{:.3f}", *row.ratio) : "-", row.verdict));
  }
  return texts;
}

OperatorTime counted(const char* name, const char* op_class, Counters recorded, Counters here) {
  OperatorTime row{.name = name, .op_class = op_class, .count = 1};
  row.recorded_counters = std::move(recorded);
  row.counters = std::move(here);
  return row;
}

RankReport counted_rank() {
  RankReport rank;
  rank.original.counters = {{"dram_bytes", 1000}, {"of_original.sum", 1}};
  rank.counters = {{"dram_bytes", 1200}, {"of_replay.sum", 1}};
  rank.operators = {
      counted("aten::mm", "matmul", {{"dram_bytes", 300}, {"flop", 50}},
              {{"dram_bytes", 330}, {"flop", 50}}),
      counted("aten::bmm", "matmul", {{"dram_bytes", 100}, {"flop", 10}},
              {{"dram_bytes", 100}, {"flop", 10}}),
      counted("aten::addmm", "matmul", {}, {{"dram_bytes", 5000}, {"flop", 5000}}),
      counted("aten::relu", "elementwise", {{"dram_bytes", 600}}, {}),
      counted("aten::sum", "reduction", {{"dram_bytes", 0}}, {{"dram_bytes", 8}}),
  };
  return rank;
}

TEST(CounterResemblance, HasEachCounterOfBothSidesByOperatorsThatBothCounted) {
  EXPECT_EQ(texts_of(merge({counted_rank()}, {}, {}).counters_against_original),
            (Texts{"/dram_bytes 1000 1200 1.200 MORE", "matmul/dram_bytes 400 430 1.075 MORE",
                   "matmul/flop 60 60 1.000 SAME", "reduction/dram_bytes 0 8 - MORE"}));
}

TEST(CounterResemblance, ADifferenceCountsAboveFivePerCentAndTheReplaysSpread) {
  RankReport rank = counted_rank();
  rank.operators.clear();
  rank.original.counters = {{"a", 100}, {"b", 100}, {"c", 100}, {"d", 100}, {"e", 0}};
  rank.counters = {{"a", 104.9}, {"b", 94.9}, {"c", 120}, {"d", 120}, {"e", 0}};
  rank.counter_spreads = {{"a", 0}, {"c", 24.5}, {"d", 12}};
  EXPECT_EQ(texts_of(merge({rank}, {}, {}).counters_against_original),
            (Texts{"/a 100 104.9 1.049 SAME", "/b 100 94.9 0.949 LESS", "/c 100 120 1.200 SAME",
                   "/d 100 120 1.200 MORE", "/e 0 0 - SAME"}));
}

TEST(CounterResemblance, AClassHasTheSpreadOfTheWholeStep) {
  RankReport rank = counted_rank();
  rank.counter_spreads = {{"dram_bytes", 96}};  // 8 % of the step
  EXPECT_EQ(texts_of(merge({rank}, {}, {}).counters_against_original)[1],
            "matmul/dram_bytes 400 430 1.075 SAME");
}

TEST(CounterResemblance, OfRanksIsOfTheirSums) {
  const Report job = merge({counted_rank(), counted_rank()}, {}, {});
  EXPECT_EQ(texts_of(job.counters_against_original)[0], "/dram_bytes 2000 2400 1.200 MORE");
}

TEST(CounterResemblance, APartOfTheStepHasNoRatioToTheWhole) {
  const Report part = merge({counted_rank()}, {"--only compute"}, {});
  const Texts rows = texts_of(part.counters_against_original);
  EXPECT_EQ(rows[0], "/dram_bytes 1000 1200 - ");
  EXPECT_EQ(rows[1], "matmul/dram_bytes 400 430 1.075 MORE");
}

TEST(CounterResemblance, IsEmptyIfASideHasNone) {
  RankReport rank = counted_rank();
  rank.original.counters.clear();
  rank.operators.clear();
  EXPECT_TRUE(merge({rank}, {}, {}).counters_against_original.empty());
}

/// A run in which the step's "flop" has this value.
CountedRun run_of(double value, std::optional<double> spread = {}) {
  return {{{"", "flop"}, {value, spread}}};
}

std::string compared(const std::vector<CountedRun>& a, const std::vector<CountedRun>& b) {
  return texts_of(compare_counters(a, b, 0.02)).at(0);
}

TEST(CompareCounters, OneRunWithoutSpreadIsUnsure) {
  EXPECT_EQ(compared({run_of(100)}, {run_of(150)}), "/flop 100 150 1.500 UNSURE");
  EXPECT_EQ(compared({run_of(0)}, {run_of(0)}), "/flop 0 0 - SAME");
}

TEST(CompareCounters, TheLargerSpreadCounts) {
  EXPECT_EQ(compared({run_of(100, 0.01)}, {run_of(110, 0.2)}), "/flop 100 110 1.100 SAME");
  EXPECT_EQ(compared({run_of(100, 0.01)}, {run_of(110)}), "/flop 100 110 1.100 MORE");
  EXPECT_EQ(compared({run_of(100)}, {run_of(98.5, 0)}), "/flop 100 98.5 0.985 SAME");
}

TEST(CompareCounters, OfSeveralRunsMediansAndRangesCount) {
  const std::vector<CountedRun> near = {run_of(100), run_of(99), run_of(101)};
  const std::vector<CountedRun> wide = {run_of(80), run_of(110), run_of(111)};
  EXPECT_EQ(compared(near, {run_of(109), run_of(110), run_of(111)}), "/flop 100 110 1.100 MORE");
  EXPECT_EQ(compared(near, wide), "/flop 100 110 1.100 SAME");
}

TEST(CountedRun, IsOfTheReplayAlone) {
  RankReport rank = counted_rank();
  rank.counter_spreads = {{"dram_bytes", 120}};
  rank.counters["broken"] = std::numeric_limits<double>::quiet_NaN();
  const CountedRun run = counted_run(merge({rank}, {}, {}));
  EXPECT_EQ(run.at({"", "dram_bytes"}).spread, 0.1);
  EXPECT_EQ(run.at({"matmul", "dram_bytes"}).value, 5430);
  EXPECT_EQ(run.at({"matmul", "flop"}).spread, std::nullopt);
  EXPECT_FALSE(run.contains({"", "broken"}));
}

}  // namespace
}  // namespace understudy::et_schema
