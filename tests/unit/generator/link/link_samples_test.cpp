// Linking real pairs of trace and profile: how much joins, which device events find the operator
// that launched them, and which parents are repaired.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "et_schema/formats/kineto/profile_files.h"
#include "et_schema/formats/pytorch_et/trace_files.h"
#include "generator/job/generate.h"
#include "generator/link/link.h"
#include "small_profile.h"
#include "testing/error_text.h"

namespace understudy::generator {
namespace {

using et_schema::JoinKind;
using et_schema::Loss;
using et_schema::Trace;

Link link_files(const std::string& trace, const std::string& profile,
                const LinkOptions& options = {}) {
  return link(one_trace(trace), one_profile(profile), options);
}

TEST(LinkSamples, EveryNodeOfResnetJoinsTheProfileOfAnotherRun) {
  const std::string profile = kProfiles + "/resnet_2gpu_kineto_rank0.json.gz";
  const Link whole =
      link_files(kSamples + "/resnet_ddp/resnet_1gpu_et_1.0.3.json.gz", profile, {.step = "all"});
  EXPECT_EQ(whole.profile.join, JoinKind::kRecordFunctionId);
  EXPECT_EQ(whole.profile.nodes_with_rf_id, 14388U);
  EXPECT_EQ(whole.profile.nodes_joined, 14388U);
  EXPECT_EQ(whole.profile.events, 14388U);
  EXPECT_EQ(whole.profile.device_events_linked, 3774U);
  EXPECT_TRUE(whole.losses.nonzero().empty());
  const Link step = link_files(kSamples + "/resnet_ddp/resnet_1gpu_et_1.0.3.json.gz", profile);
  EXPECT_EQ(step.profile.nodes_joined, 4796U);
  EXPECT_EQ(step.profile.join, JoinKind::kRecordFunctionId);
}

TEST(LinkSamples, IdsThatAreShiftedByAConstant) {
  // The 1.1.1 trace starts with a list of process groups: its ids are one higher.
  const Link whole = link_files(kSamples + "/resnet_ddp/resnet_1gpu_et_1.1.1.json.tar.gz",
                                kProfiles + "/resnet_2gpu_kineto_rank0.json.gz", {.step = "all"});
  EXPECT_EQ(whole.profile.join, JoinKind::kRecordFunctionId);
  EXPECT_EQ(whole.profile.nodes_joined, 14388U);
  EXPECT_EQ(whole.profile.nodes_with_rf_id, 14388U);
}

TEST(LinkSamples, EveryRankOfDlrmJoinsByOrderPerThread) {
  const std::vector<Trace> traces =
      et_schema::read_traces({kSamples + "/dlrm_8gpu/dlrm_pytorch_et.tar.gz"});
  std::set<int> seen;
  et_schema::read_profiles(
      {kSamples + "/dlrm_8gpu/dlrm_kineto.tar.gz"}, 8, [&](int rank, Profile&& profile) {
        SCOPED_TRACE(rank);
        seen.insert(rank);
        const Trace& trace = traces.at(static_cast<std::size_t>(rank));
        const Link linked = link(trace, profile);
        EXPECT_EQ(linked.profile.join, JoinKind::kOrder);
        std::map<std::uint64_t, std::size_t> by_thread;
        for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
          by_thread[trace.nodes[i].tid] += linked.nodes[i] ? 1U : 0U;
        }
        std::multiset<std::size_t> joined;
        for (const auto& [tid, count] : by_thread) {
          joined.insert(count);
        }
        joined.erase(0);
        EXPECT_EQ(joined, (std::multiset<std::size_t>{684, 988}));
        const std::uint64_t before_the_profile = rank == 1 || rank == 3 ? 64 : 0;
        EXPECT_EQ(linked.losses[Loss::kUnlinkedDeviceEvents], before_the_profile);
        EXPECT_EQ(linked.profile.lost.empty(), before_the_profile == 0);
        for (const et_schema::LostDeviceEvents& lost : linked.profile.lost) {
          EXPECT_EQ(lost.reason, "its launch is not in the profile");
        }
        EXPECT_EQ(linked.losses[Loss::kUnjoinedNodes], 0U);
      });
  EXPECT_EQ(seen.size(), 8U);
}

TEST(LinkSamples, FortyIterationsJoinOne) {
  const Link linked =
      link_files(kSamples + "/linear/linear_et.json.gz", kProfiles + "/linear_kineto.json.gz");
  EXPECT_EQ(linked.profile.steps, 39U);
  EXPECT_EQ(linked.losses[et_schema::Loss::kDissimilarSteps], 1U);
  EXPECT_EQ(linked.profile.nodes_joined, 928U);
  EXPECT_EQ(linked.profile.nodes_with_rf_id, 928U);
  EXPECT_EQ(linked.profile.device_events, 10356U);
  EXPECT_EQ(linked.profile.device_events_linked, 10356U);
}

TEST(LinkSamples, AStepWithoutAMarkBeginsWithItsForwardPass) {
  const Trace trace = one_trace(kSamples + "/linear/linear_et.json.gz");
  const Link linked = link(trace, one_profile(kProfiles + "/linear_kineto.json.gz"));
  std::vector<std::int64_t> linears;  // starts, as the trace has them
  std::int64_t backward_ns = 0;
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    if (linked.nodes[i] && trace.nodes[i].name == "aten::linear") {
      linears.push_back(linked.nodes[i]->start_ns);
    } else if (linked.nodes[i] && trace.nodes[i].name == "aten::nll_loss_backward") {
      backward_ns = linked.nodes[i]->start_ns;
    }
  }
  ASSERT_EQ(linears.size(), 21U);
  EXPECT_EQ(linears.front(), 0);
  EXPECT_TRUE(std::ranges::is_sorted(linears));
  EXPECT_LT(linears.back(), backward_ns);
}

/// Links device events as if the profile had no correlations (`without_calls`: no calls of the
/// runtime either), and returns how many have their own operator, and another one.
struct Told {
  std::size_t right = 0;
  std::size_t wrong = 0;
};
Told told_without_correlations(const std::string& file, bool without_calls) {
  Profile profile = one_profile(kProfiles + "/" + file);
  std::map<std::uint32_t, std::uint32_t> operators;  // by the event's position
  for (const et_schema::DeviceEvent& event : et_schema::device_timeline(profile).events) {
    operators[event.source] = event.launcher;
  }
  for (et_schema::KinetoEvent& event : profile.events) {
    if (event.category == et_schema::KinetoCategory::kRuntime && without_calls) {
      event.category = et_schema::KinetoCategory::kOther;
    } else if (is_device_work(event) && !without_calls) {
      event.correlation = -1;
    }
  }
  const et_schema::DeviceTimeline device = et_schema::device_timeline(profile);
  Told told;
  std::uint64_t linked = 0;
  for (const et_schema::DeviceEvent& event : device.events) {
    if (event.launcher != et_schema::kUnknownEvent) {
      ++linked;
      ++(operators.at(event.source) == event.launcher ? told.right : told.wrong);
    }
  }
  EXPECT_EQ(device.by_external_id, linked);
  return told;
}

TEST(LinkSamples, ExternalIdsTellOperatorsWhereNoCallIsShown) {
  for (const bool without_calls : {false, true}) {
    SCOPED_TRACE(without_calls);
    const Told told = told_without_correlations("resnet_2gpu_kineto_rank0.json.gz", without_calls);
    EXPECT_EQ(told.right, 3774U);
    EXPECT_EQ(told.wrong, 0U);
  }
}

TEST(LinkSamples, ExternalIdsOfOldProfilesAreNotReliedOn) {
  for (const bool without_calls : {false, true}) {
    SCOPED_TRACE(without_calls);
    for (const char* file : {"linear_kineto.json.gz", "benchmark_simple_add_trace.json.gz"}) {
      const Told told = told_without_correlations(file, without_calls);
      EXPECT_EQ(told.right + told.wrong, 0U)
          << file << ": 3,814 of 10,356 and 1 of 4 hit by chance";
    }
  }
}

TEST(LinkSamples, AMicroBenchmarkOfOneOperator) {
  const Link linked = link_files(kProfiles + "/benchmark_simple_add_et.json.gz",
                                 kProfiles + "/benchmark_simple_add_trace.json.gz");
  EXPECT_EQ(linked.profile.nodes_joined, 36U);
  EXPECT_EQ(linked.profile.nodes_with_rf_id, 36U);
  EXPECT_EQ(linked.profile.device_events_linked, 4U);
}

class LinkCapture : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, LinkCapture,
                         testing::Values("mlp", "resnet18", "dlrm_dense", "dlrm_sparse",
                                         "gpt_adamw_foreach", "gpt_adamw_fused", "speech_encoder",
                                         "gpt_ddp", "gpt_ddp_gloo", "compiled",
                                         "compiled_optimizer"));

TEST_P(LinkCapture, JoinsWhole) {
  const std::string folder = kSamples + "/" + GetParam();
  et_schema::TraceSet set = et_schema::read_trace_set({folder});
  const auto captures = et_schema::find_captures({folder}, set);
  ASSERT_TRUE(captures);
  ASSERT_EQ(captures->size(), set.traces.size());
  for (std::size_t rank = 0; rank < captures->size(); ++rank) {
    const et_schema::RankCapture& capture = (*captures)[rank];
    repair_parents(set.traces[rank], et_schema::read_profile({folder}, capture.with_trace));
    for (const std::string& file : {capture.alone, capture.with_trace}) {
      SCOPED_TRACE(file);
      ASSERT_FALSE(file.empty());
      const Link linked = link(set.traces[rank], et_schema::read_profile({folder}, file));
      EXPECT_EQ(linked.profile.join,
                file == capture.alone ? JoinKind::kOrder : JoinKind::kRecordFunctionId);
      EXPECT_EQ(linked.profile.nodes_joined, linked.profile.nodes_with_rf_id);
      EXPECT_TRUE(linked.losses.nonzero().empty());
      EXPECT_GT(operators_ns(linked), linked.profile.step_ns / 2);
      EXPECT_LE(operators_ns(linked), linked.profile.step_ns);
    }
  }
}

TEST_P(LinkCapture, RepairsTheParentsThatGlooLeaves) {
  const std::string folder = kSamples + "/" + GetParam();
  et_schema::TraceSet set = et_schema::read_trace_set({folder});
  const auto captures = et_schema::find_captures({folder}, set);
  ASSERT_TRUE(captures);
  const bool is_gloo = std::string(GetParam()) == "gpt_ddp_gloo";
  for (std::size_t rank = 0; rank < captures->size(); ++rank) {
    Trace& trace = set.traces[rank];
    const Profile profile = et_schema::read_profile({folder}, (*captures)[rank].with_trace);
    const std::uint64_t wrong = !is_gloo ? 0 : rank == 0 ? 158 : 160;
    EXPECT_EQ(repair_parents(trace, profile), wrong);
    EXPECT_EQ(trace.losses[Loss::kRepairedParents], wrong);
    EXPECT_EQ(repair_parents(trace, profile), 0U) << "repaired once, it is right";
  }
}

TEST(LinkSamples, WhereAllIsReplayedTheWholeIsWhatIsReplayed) {
  for (const std::string name : {"embedding_zipf", "dlrm_dense", "dlrm_sparse"}) {
    const std::string folder = kSamples + "/" + name;
    const et_schema::TraceSet set = et_schema::read_trace_set({folder});
    const auto captures = et_schema::find_captures({folder}, set);
    ASSERT_TRUE(captures);
    const Link linked =
        link(set.traces[0], et_schema::read_profile({folder}, captures->front().alone));
    const et_schema::Bench bench = generate(set.traces, {}, {linked});
    const et_schema::Program& program = bench.programs[0];
    ASSERT_TRUE(program.selection.opened.empty()) << name;
    std::int64_t replayed_ns = 0;
    for (const et_schema::Instruction& instruction : program.instructions) {
      replayed_ns += instruction.timing ? instruction.timing->host_ns : 0;
    }
    // Each a median over the steps of the profile, whose sum is not the median of the sum.
    EXPECT_EQ(program.profile->operators_ns, replayed_ns) << name;
  }
}

TEST(LinkSamples, AProfileOfAnotherProgram) {
  EXPECT_EQ(error_of([&] {
              return link_files(kSamples + "/mlp/rank-0.et.json.gz",
                                kSamples + "/gpt_ddp/rank-0.kineto_only.json.gz");
            }),
            "a profile of another program\n  file:     " + kSamples +
                "/gpt_ddp/rank-0.kineto_only.json.gz\n  rank:     0\n  node:     4\n  expected: "
                "Optimizer.zero_grad#SGD.zero_grad, in the place where the trace has it\n  got:    "
                "  140 of 261 nodes and 140 of 4212 events of its first step with equal names in "
                "equal order\n  hint:     give the profile of the program that the trace is of, or "
                "--profile none to go without times");
}

}  // namespace
}  // namespace understudy::generator
