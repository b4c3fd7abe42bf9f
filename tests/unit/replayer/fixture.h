#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "et_schema/base/error.h"
#include "program_builder.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/bind/bind.h"
#include "replayer/bind/decisions.h"
#include "replayer/bind/externals.h"
#include "replayer/run/run.h"
#include "replayer/run/trial.h"

namespace understudy::replayer::testing {

/// Takes a hand-made program through trial and iterations on the CPU.
class ReplayerTest : public ::testing::Test {
 protected:
  /// Binds and runs the first iteration.
  TrialResult& try_out(bool continue_on_error = false) {
    const Program& program = builder_.program();
    const c10::Device cpu(c10::kCPU);
    decisions_ = std::make_unique<Decisions>(program, Decisions::Options{cpu, Only::kAll});
    machine_ = std::make_unique<Machine>(program, *backend_);
    externals_ = std::make_unique<Externals>(program, cpu, 0);
    Trial trial(*decisions_, *machine_, *externals_, *backend_, groups_, continue_on_error, {},
                watched_);
    result_ = trial.run();
    return result_;
  }
  /// One iteration from the externals' first content.
  void iterate() {
    externals_->restore();
    externals_->place(machine_->slots(), machine_->given());
    machine_->prime(result_.program);
    machine_->run(result_.program);
  }
  /// The text of the error that the trial ends with.
  std::string failure(bool continue_on_error = false) {
    try {
      try_out(continue_on_error);
    } catch (const et_schema::Error& error) {
      return et_schema::to_text(error);
    }
    return "no error";
  }
  /// An external that the test can read after a run: copies of results go there.
  SlotId sink(DType dtype, const Sizes& sizes) {
    return builder_.external(dtype, sizes, constant(0));
  }
  void keep(SlotId from, SlotId to) {
    builder_.add_op(
        "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
        {ref(to), ref(from), flag(false)}, {ref(to)});
  }
  at::Tensor slot(SlotId id) { return machine_->slots()[id]; }

  ProgramBuilder builder_;
  std::unique_ptr<backends::Backend> backend_ = backends::make_single_backend({});
  c10::Device watched_{c10::kCPU};  ///< that the trial waits for behind each operator
  std::vector<BoundGroup> groups_ = {{"world", 0, 1}};
  std::unique_ptr<Decisions> decisions_;
  std::unique_ptr<Machine> machine_;
  std::unique_ptr<Externals> externals_;
  TrialResult result_;

 private:
  at::AutoGradMode grad_mode_{true};
  at::AutoDispatchBelowADInplaceOrView below_autograd_;
};

}  // namespace understudy::replayer::testing
