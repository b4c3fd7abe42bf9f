#include "generator/link/disturbance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "et_schema/model/original_step.h"

namespace understudy::generator {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// A profiled step of 10 ms for one of 6: an operator from 2 to 7 ms allocates 40 pages, in a child
/// from 3 to 4 ms; another, from 7 to 8 ms, none.
struct Disturbed {
  Disturbed() {
    trace.nodes.resize(4);
    link.nodes.resize(4);
    link.memory.nodes.resize(4);
    add(1, 0, 2, 7);
    add(2, 1, 3, 4);
    add(3, 0, 7, 8);
    link.memory.blocks.push_back({.allocated_ns = 350, .freed_ns = {}, .bytes = 40 * 4096});
    link.profile.step_ns = 10 * kMs;
    link.profile.unprofiled_step_ns = 6 * kMs;
  }

  void add(et_schema::NodeIndex node, et_schema::NodeIndex parent, std::int64_t begin_ms,
           std::int64_t end_ms) {
    trace.nodes[node].parent = parent;
    const std::int64_t host_ns = (end_ms - begin_ms) * kMs;
    link.nodes[node] =
        NodeTimes{.start_ns = begin_ms * kMs, .host_ns = host_ns, .self_ns = host_ns};
    link.nodes[node]->is_summed = true;
    link.memory.nodes[node] = {begin_ms * 100, end_ms * 100};  // in the traced step
  }

  et_schema::Trace trace;
  Link link;
};

TEST(Disturbance, OneFactorTakesAllTimesToTheUnprofiledStep) {
  Disturbed step;
  take_out_disturbance(step.trace, step.link);
  EXPECT_EQ(step.link.nodes[1]->start_ns, 1'200'000);
  EXPECT_EQ(step.link.nodes[1]->host_ns, 3'000'000);
  EXPECT_EQ(step.link.nodes[2]->self_ns, 600'000);
  EXPECT_EQ(step.link.profile.step_ns, 6 * kMs);
  EXPECT_EQ(et_schema::profiled_step_ms(step.link.profile), 10);
}

TEST(Disturbance, PageFaultsAreTakenFromWhatAllocates) {
  Disturbed step;
  step.link.profile.profiled_minor_faults = 500;
  step.link.profile.minor_faults = 100;  // a fault costs 10 us, and the 400 are more than the pages
  take_out_disturbance(step.trace, step.link);
  // 40 pages take 0.4 of 5 ms; the factor of all that is left is 6 ÷ 9.6.
  EXPECT_EQ(step.link.nodes[1]->host_ns, std::llround(4.6 / 9.6 * 6e6));
  EXPECT_EQ(step.link.nodes[3]->host_ns, std::llround(1 / 9.6 * 6e6));
  EXPECT_EQ(step.link.nodes[3]->start_ns, std::llround(6.6 / 9.6 * 6e6));
}

TEST(Disturbance, FaultsThatOnlyTheUnprofiledStepMetAreGiven) {
  Disturbed step;
  step.link.profile.unprofiled_step_ns = 11 * kMs;
  step.link.profile.profiled_minor_faults = 0;
  step.link.profile.minor_faults = 400;
  take_out_disturbance(step.trace, step.link);
  EXPECT_EQ(step.link.nodes[1]->host_ns, std::llround(5.1 / 10.1 * 11e6));
}

TEST(Disturbance, AStepOfADeviceKeepsItsTimes) {
  Disturbed step;
  step.link.profile.device_events = 1;
  take_out_disturbance(step.trace, step.link);
  EXPECT_EQ(step.link.nodes[1]->host_ns, 5 * kMs);
  EXPECT_EQ(step.link.profile.step_ns, 10 * kMs);
}

}  // namespace
}  // namespace understudy::generator
