#include "predictor/what_if/what_if.h"

#include <gtest/gtest.h>

#include "../simulate/hand_made.h"
#include "et_schema/base/error.h"
#include "testing/error_text.h"

namespace understudy::predictor {
namespace {

using et_schema::CommKind;
using testing::HandMade;
using testing::single_step;

std::string refusal(const std::string& text) {
  return testing_errors::error_of(et_schema::ErrorKind::kUsage,
                                  [&] { return parse_what_if(text); });
}

/// On a device: two matrix products, an addition, an allreduce.
void make_step(HandMade& made) {
  made.begin_program();
  const auto x = made.cuda();
  made.op("aten::mm", {}, {x}, {.gap_ns = 4, .host_ns = 6, .device_ns = 100});
  made.op("aten::addmm", {x}, {x}, {.gap_ns = 4, .host_ns = 6, .device_ns = 50});
  made.op("aten::add", {x}, {made.cuda()}, {.gap_ns = 4, .host_ns = 6, .device_ns = 20});
  made.comm(CommKind::kAllReduce, {x}, 0, 30, true);
}

double iteration_ns(const std::vector<std::string>& questions) {
  HandMade made;
  make_step(made);
  std::vector<WhatIf> parsed;
  for (const std::string& question : questions) {
    parsed.push_back(parse_what_if(question));
  }
  const Job job = made.job();
  const AskedCosts asked = {{job.programs[0], simulate(job, made, single_step()).costs[0]}};
  const double ns = simulate(job, WhatIfCosts(made, parsed), single_step()).iteration_ns;
  EXPECT_EQ(simulate(job, WhatIfCosts(made, parsed, &asked), single_step()).iteration_ns, ns);
  return ns;
}

TEST(WhatIfs, MultiplyTimes) {
  EXPECT_EQ(iteration_ns({}), 7 + 170 + 30);
  EXPECT_EQ(iteration_ns({"matmul x0.5"}), 7 + 95 + 30);
  EXPECT_EQ(iteration_ns({"^aten::add$ x2"}), 7 + 190 + 30);
  EXPECT_EQ(iteration_ns({"network x2"}), 7 + 170 + 60);
  EXPECT_EQ(iteration_ns({"allreduce x0"}), 7 + 170);
  EXPECT_EQ(iteration_ns({"host x0"}), 170 + 30);
  EXPECT_EQ(iteration_ns({"matmul x0.5", "matmul x0.5"}), 7 + 57.5 + 0.5 + 30);
}

TEST(WhatIfs, OnACpuTheHostIsWhatLiesBetweenOperators) {
  HandMade made;
  made.begin_program();
  made.op("aten::mm", {}, {made.cpu()}, {.gap_ns = 4, .host_ns = 6});
  const std::vector<WhatIf> host = {parse_what_if("host x0")};
  EXPECT_EQ(simulate(made.job(), WhatIfCosts(made, host), single_step()).iteration_ns, 6);
  const std::vector<WhatIf> matmul = {parse_what_if("matmul x2")};
  EXPECT_EQ(simulate(made.job(), WhatIfCosts(made, matmul), single_step()).iteration_ns, 16);
}

TEST(WhatIfs, TellWhatTheyChangeOfWhatTheOnesBeforeThemLeft) {
  HandMade made;
  make_step(made);
  const Job job = made.job({0, 0});
  const Simulation simulation = simulate(job, made, single_step());
  const auto changes =
      changes_of(job, simulation,
                 {parse_what_if("matmul x0.5"), parse_what_if("host x3"), parse_what_if("mm x3")});
  ASSERT_EQ(changes.size(), 3);
  using Row = et_schema::PredictedChange::Row;
  ASSERT_EQ(changes[0].rows.size(), 2);
  EXPECT_EQ(changes[0].rows[0], (Row{"aten::mm", 2, 200 * kMsPerNs, 100 * kMsPerNs}));
  EXPECT_EQ(changes[1].rows[0], (Row{"aten::add", 2, 20 * kMsPerNs, 60 * kMsPerNs}));
  EXPECT_EQ(changes[2].rows[0], (Row{"aten::mm", 2, 100 * kMsPerNs, 300 * kMsPerNs}));
}

TEST(WhatIfs, ThatLeadBeyondTheClocksAreRefused) {
  HandMade made;
  make_step(made);
  const std::vector<WhatIf> questions(3, parse_what_if("matmul x1e6"));
  const WhatIfCosts costs(made, questions);
  EXPECT_EQ(testing_errors::error_of(et_schema::ErrorKind::kUsage,
                                     [&] { return simulate(made.job(), costs, single_step()); }),
            testing_errors::told("times that are too long to simulate",
                                 "expected: at most 1e+15 ns in an iteration of a rank",
                                 "got: 1e+20 ns, of them 1e+20 ns in aten::mm",
                                 "hint: smaller factors of --what-if, or other costs"));
}

double iteration_ns(const Job& job, const Costs& costs) {
  return simulate(job, costs, single_step()).iteration_ns;
}

TEST(WhatIfs, OfRanksChangeTheirOwnTimesAlone) {
  HandMade made;
  make_step(made);
  Job job = made.job({0, 0, 0});
  job.ranks_per_node = 2;
  const std::vector<WhatIf> slow = {parse_what_if("rank 2 x2")};
  const std::deque<Program> copies = split_ranks(job, slow);
  EXPECT_EQ(job.program_of, (std::vector<std::uint32_t>{0, 0, 1}));
  const Simulation plain = simulate(job, made, single_step());
  const WhatIfCosts slower(made, about_ranks(job, plain, slow));
  EXPECT_EQ(iteration_ns(job, slower), 14 + 340 + 30);
  const Simulation skewed = simulate(job, slower, single_step());
  for (const char* even : {"rank 2 even", "ranks even"}) {
    const auto questions = about_ranks(job, skewed, {parse_what_if(even)});
    EXPECT_EQ(iteration_ns(job, WhatIfCosts(slower, questions)), 7 + 170 + 30) << even;
  }
  const auto network = about_ranks(job, plain, {parse_what_if("node 1 network x3")});
  EXPECT_EQ(iteration_ns(job, WhatIfCosts(made, network)), 7 + 170 + 90);
}

TEST(WhatIfTexts, AreRead) {
  EXPECT_EQ(parse_what_if(" matmul  x0.5 ").target, WhatIfTarget::kClass);
  EXPECT_EQ(parse_what_if("matmul x0.5").factor, 0.5);
  EXPECT_EQ(parse_what_if("network x2").target, WhatIfTarget::kNetwork);
  EXPECT_EQ(parse_what_if("communication x2").target, WhatIfTarget::kNetwork);
  EXPECT_EQ(parse_what_if("host x1e-3").target, WhatIfTarget::kHost);
  EXPECT_EQ(parse_what_if("all_to_allv x2").target, WhatIfTarget::kCollective);
  EXPECT_EQ(parse_what_if("aten::(mm|bmm) x2").target, WhatIfTarget::kOperator);
}

TEST(WhatIfTexts, ThatCannotBeReadAreRefused) {
  const std::string hint =
      "  hint:     for example 'matmul x0.5', 'network x2', 'host x0', '^aten::add x1.1', "
      "'rank 3 x1.2', 'ranks even', 'node 2 network x0.5'";
  EXPECT_EQ(refusal("matmul"),
            "a what-if that cannot be read\n  field:    --what-if 'matmul'\n"
            "  expected: TARGET xFACTOR\n  got:      one word\n" +
                hint);
  EXPECT_EQ(refusal(""),
            "a what-if that cannot be read\n  field:    --what-if ''\n"
            "  expected: TARGET xFACTOR\n  got:      nothing\n" +
                hint);
  for (const std::string factor : {"0.5", "x", "x-1", "xnan", "xinf", "x2y", "x1e7"}) {
    EXPECT_EQ(refusal("matmul " + factor),
              "a what-if that cannot be read\n  field:    --what-if 'matmul " + factor +
                  "'\n  expected: TARGET xFACTOR, a factor of the time from x0 to x1e6\n"
                  "  got:      " +
                  factor + "\n" + hint);
  }
  EXPECT_NE(refusal("aten::( x2")
                .find("expected: a class, a kind of communication, or a regular "
                      "expression\n"),
            std::string::npos);
}

}  // namespace
}  // namespace understudy::predictor
