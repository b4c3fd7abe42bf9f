#include <gtest/gtest.h>

#include "bench_samples.h"
#include "et_schema/formats/bench/bench.h"

namespace understudy::et_schema {
namespace {

TEST(BenchmarkHash, IsOfTheProgramsAlone) {
  const Bench bench = tiny_bench();
  const std::string hash = benchmark_hash(bench);
  EXPECT_EQ(hash.size(), 32U);
  Bench renamed = bench;
  renamed.tool_version = "9.9.9";
  renamed.sources.clear();
  renamed.programs.edit(0).losses.add(Loss::kAliases);
  renamed.programs.edit(0).instructions.front().timing = Timing{};
  EXPECT_EQ(benchmark_hash(renamed), hash);
}

TEST(BenchmarkHash, TellsBenchmarksApart) {
  const Bench bench = tiny_bench();
  Bench other = bench;
  other.programs.edit(0).instructions.front().name = "aten::another";
  EXPECT_NE(benchmark_hash(other), benchmark_hash(bench));
  Bench longer = bench;
  longer.programs.push_back(bench.programs.front());
  EXPECT_NE(benchmark_hash(longer), benchmark_hash(bench));
  Bench regrouped = bench;
  regrouped.groups.push_back({});
  EXPECT_NE(benchmark_hash(regrouped), benchmark_hash(bench));
}

}  // namespace
}  // namespace understudy::et_schema
