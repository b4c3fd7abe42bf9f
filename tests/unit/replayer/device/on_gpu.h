#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "program_builder.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/job/replay.h"

namespace understudy::replayer::testing {

/// A program of the test's that is replayed on the GPU, by one rank.
class OnGpu : public ::testing::Test {
 protected:
  SlotId tensor() { return builder_.intermediate(DType::kFloat32, {4}); }
  SlotId external() { return builder_.external(DType::kFloat32, {4}, constant(1)); }
  static ReplayOptions options() {
    ReplayOptions options;
    options.device = "cuda";
    options.threads = 1;
    options.iterations = 3;
    options.passes = 2;
    return options;
  }
  RankRun replay(const std::function<void(ReplayOptions&)>& change = {}) {
    et_schema::Bench bench;
    bench.programs.push_back(builder_.program());
    bench.groups.push_back({"world", "", "", {0}, 1});
    ReplayOptions changed = options();
    if (change) {
      change(changed);
    }
    const auto backend = backends::make_single_backend({});
    return replay_rank(bench, 0, *backend, changed);
  }

  ProgramBuilder builder_;
};

}  // namespace understudy::replayer::testing
