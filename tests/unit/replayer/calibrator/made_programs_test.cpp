// Programs of calls that the replayer runs: every recipe's calls, and calls over tables.
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "replayer/backends/interface/backend.h"
#include "replayer/calibrator/design/area.h"
#include "replayer/job/replay.h"

namespace understudy::calibrator {
namespace {

using et_schema::MeasuredCall;

replayer::RankRun replay(const et_schema::Bench& bench) {
  replayer::ReplayOptions options;
  options.threads = 1;
  options.warmup = 0;
  options.iterations = 0;
  options.passes = 1;
  options.operator_times = true;
  options.continue_on_error = true;
  options.cold = true;
  return replayer::replay_rank(bench, 0, *backends::make_single_backend({}), options);
}

std::string problem_of(std::string schema, std::vector<et_schema::Argument> arguments) {
  Call call{std::move(schema), {}, std::move(arguments)};
  return complete(call);
}

TEST(MadePrograms, AnOperatorGetsItsSchemaAndItsDefaults) {
  Call call = *make_call({"aten::add.Tensor", "", "{4} {4}"}, {}, {});
  EXPECT_EQ(complete(call), "");
  EXPECT_EQ(call.schema,
            "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  EXPECT_EQ(to_text(call), "aten::add.Tensor(float32[4], float32[4], 1)");
  EXPECT_EQ(problem_of("aten::no_such_thing", {}), "no release of LibTorch has such an operator");
  EXPECT_EQ(problem_of("aten::mm", {{}}), "argument mat2 has no default");
}

class Warnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
  std::vector<std::string> texts;
};

/// The smallest call of each recipe, and two points of its area.
TEST(MadePrograms, CallsOfEveryRecipeRunAsTheyAre) {
  std::vector<Call> calls;
  for (const Recipe& recipe : recipes()) {
    DimensionValues least;
    for (const Dimension& dimension : dimensions_of(recipe)) {
      least[dimension.name] = dimension.choices.empty() ? dimension.low : dimension.choices.front();
    }
    Area area(recipe, {.bytes = 1 << 20, .work = 1e6, .float32 = 1});
    for (std::optional<Call> call : {make_call(recipe, least, {}), area.next(), area.next()}) {
      if (call) {
        EXPECT_EQ(complete(*call), "") << recipe.op;
        calls.push_back(*std::move(call));
      }
    }
  }
  ASSERT_GE(calls.size(), 2 * recipes().size());
  Warnings warnings;
  const c10::WarningUtils::WarningHandlerGuard guard(&warnings);
  const replayer::RankRun run = replay(make_bench(calls));
  EXPECT_EQ(warnings.texts, std::vector<std::string>());
  EXPECT_EQ(run.report.coverage.dropped, std::vector<et_schema::NamedCount>());
  ASSERT_EQ(run.instruction_times.size(), 2 * calls.size());
  for (std::size_t i = 0; i < run.instruction_times.size(); ++i) {
    const MeasuredCall& row = run.instruction_times[i];
    EXPECT_EQ(row.instruction, i / 2);
    EXPECT_EQ(row.as, et_schema::RanAs::kExact) << to_text(calls[i / 2]);
    EXPECT_EQ(row.conditions->is_cold, i % 2 == 0);
    EXPECT_EQ(row.conditions->threads, 1);
  }
}

}  // namespace
}  // namespace understudy::calibrator
