// The typical step of several that differ: in time, in order, and in what they have.

#include "layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

namespace understudy::generator {
namespace {

/// When each node began, since the step's start; nothing where the step lacks it.
struct Seen {
  std::vector<std::optional<std::int64_t>> starts;
  std::int64_t step_ns = 0;
};

Layout lay_out_steps(const std::vector<Seen>& steps) {
  constexpr std::int64_t kApart_ns = 1'000'000;
  Join join;
  HostEvents host;
  std::int64_t begin = 0;
  for (const Seen& seen : steps) {
    JoinedStep step;
    step.span.mark = static_cast<HostIndex>(host.events.size());
    host.events.push_back({.start_ns = begin, .end_ns = begin + seen.step_ns});
    for (const std::optional<std::int64_t>& start : seen.starts) {
      step.event_of.push_back(start ? static_cast<HostIndex>(host.events.size()) : kNoEvent);
      if (start) {
        host.events.push_back({.start_ns = begin + *start, .end_ns = begin + *start + 1});
      }
    }
    join.steps.push_back(std::move(step));
    begin += kApart_ns;
  }
  return lay_out(join, host);
}

using Starts = std::vector<std::pair<std::size_t, std::int64_t>>;

TEST(LinkLayout, WhatSomeStepsHaveAddsNothingToTheWhole) {
  // Nodes 1 to 4 stand between 0 and 5, in the first step two of them, in the others the rest. Of
  // two times the smaller one counts.
  const Layout layout = lay_out_steps({{{100, 300, 500, {}, {}, 900}, 1000},
                                       {{100, {}, {}, 300, 500, 900}, 1000},
                                       {{100, {}, {}, 400, 700, 900}, 1000}});
  EXPECT_EQ(layout.step_ns, 1000);
  EXPECT_EQ(layout.starts, (Starts{{0, 100}, {1, 300}, {3, 300}, {2, 500}, {4, 500}, {5, 900}}));
}

TEST(LinkLayout, AStepThatIsSlowBeforeWhatItAloneHasMovesNothing) {
  // The second step waits in its beginning, and has a node of its own half-way from 1 to 2.
  const Layout layout = lay_out_steps(
      {{{100, 200, 400, {}}, 500}, {{800, 900, 1100, 1000}, 1200}, {{100, 200, 400, {}}, 500}});
  EXPECT_EQ(layout.step_ns, 500);
  EXPECT_EQ(layout.starts, (Starts{{0, 100}, {1, 200}, {3, 300}, {2, 400}}));
}

TEST(LinkLayout, WhatStepsBeginInAnotherOrderAddsNothingToTheWhole) {
  const Layout layout =
      lay_out_steps({{{100, 400, 500}, 600}, {{400, 100, 500}, 600}, {{400, 100, 500}, 600}});
  EXPECT_EQ(layout.step_ns, 600);
  EXPECT_EQ(layout.starts, (Starts{{1, 100}, {0, 400}, {2, 500}}));
}

TEST(LinkLayout, IsNeverLongerThanTheMedianStepAndNeverGoesBack) {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same each time
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  for (int job = 0; job < 2000; ++job) {
    std::vector<Seen> steps(1 + below(6));
    const std::size_t nodes = 1 + below(30);
    std::vector<std::int64_t> lengths;
    std::vector<bool> is_joined(nodes);
    for (Seen& seen : steps) {
      std::vector<std::size_t> order(nodes);
      std::iota(order.begin(), order.end(), 0);
      for (std::size_t swaps = below(4); swaps > 0; --swaps) {
        std::swap(order[below(nodes)], order[below(nodes)]);
      }
      seen.starts.resize(nodes);
      for (const std::size_t node : order) {
        seen.step_ns += static_cast<std::int64_t>(below(20) == 0 ? 5000 : below(100));
        if (below(4) != 0) {
          seen.starts[node] = seen.step_ns;
          is_joined[node] = true;
        }
      }
      seen.step_ns += static_cast<std::int64_t>(below(100));
      lengths.push_back(seen.step_ns);
    }
    const Layout layout = lay_out_steps(steps);
    std::ranges::sort(lengths);
    const std::int64_t upper_median = lengths[lengths.size() / 2];
    EXPECT_LE(layout.step_ns, upper_median);
    std::int64_t last = 0;
    std::vector<bool> is_laid_out(nodes);
    for (const auto& [node, start_ns] : layout.starts) {
      EXPECT_GE(start_ns, last);
      last = start_ns;
      EXPECT_FALSE(is_laid_out[node]);
      is_laid_out[node] = true;
    }
    EXPECT_LE(last, layout.step_ns);
    EXPECT_EQ(is_laid_out, is_joined);
  }
}

}  // namespace
}  // namespace understudy::generator
