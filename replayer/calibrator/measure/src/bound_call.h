#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "call_timer.h"
#include "et_schema/model/program.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/bind/decisions.h"
#include "replayer/bind/externals.h"
#include "replayer/calibrator/design/call.h"
#include "replayer/calibrator/measure/caller.h"
#include "replayer/run/run.h"

namespace understudy::calibrator {

/// A program of one call, or of several equal ones, that is bound and has run once.
class BoundCall {
 public:
  BoundCall(et_schema::Program program, backends::Backend& backend, std::uint64_t seed,
            c10::Device device = c10::Device(c10::kCPU));

  /// Returns an empty text if the program runs as it is, else the reason why not.
  [[nodiscard]] std::string refusal();
  void prepare();
  /// Restores the initial content of the tensors that the call has changed.
  void restore();
  double run(CallTimer& timer) {
    machine_.run(bound_, timer);
    return timer.ns();
  }
  template <typename Hook>
  void run(Hook& hook) {
    machine_.run(bound_, hook);
  }
  void run() { machine_.run(bound_); }
  void evict_inputs();

  [[nodiscard]] const at::Tensor& tensor(et_schema::SlotId slot) { return machine_.slots()[slot]; }
  [[nodiscard]] const et_schema::Program& program() const { return program_; }

 private:
  et_schema::Program program_;
  replayer::Decisions decisions_;
  replayer::Machine machine_;
  replayer::Externals externals_;
  replayer::BoundProgram bound_;
};

/// Completes a call whose schema is an operator's name: sets the full schema, and the defaults of
/// missing arguments. Returns an empty text, or why there is no such call.
[[nodiscard]] std::string complete(Call& call);

/// Decides how often a call is timed, and when its in-place changes are undone.
class Repetitions {
 public:
  /// `first_ns` is the time of the first call, which is not counted.
  Repetitions(BoundCall& call, const TimingLimits& limits, double first_ns);

  /// Returns true if the call must be timed once more. May restore the call first.
  [[nodiscard]] bool next();
  /// Records the time of the repetition.
  void spend(double ns) { spent_ns_ += ns; }

 private:
  BoundCall& call_;
  TimingLimits limits_;
  std::size_t begun_ = 0;
  double spent_ns_ = 0;
};

}  // namespace understudy::calibrator
