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

/// A program of one call, or of several alike, that is bound and has run once.
class BoundCall {
 public:
  BoundCall(et_schema::Program program, backends::Backend& backend, std::uint64_t seed,
            c10::Device device = c10::Device(c10::kCPU));

  /// Empty if it runs as it is, else why not.
  [[nodiscard]] std::string refusal();
  /// Before it is run.
  void prepare();
  /// Gives what it changed its first content again.
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

/// Gives a call whose schema is an operator's name that operator's whole schema, and the arguments
/// that it leaves out their defaults. Empty, or why there is no such call.
[[nodiscard]] std::string complete(Call& call);

/// How often a call is timed, and when what it changes in place is put back.
class Repetitions {
 public:
  /// `first_ns`: what the call took once, untimed.
  Repetitions(BoundCall& call, const TimingLimits& limits, double first_ns);

  /// Whether the call is timed once more; then it may have its first content again.
  [[nodiscard]] bool next();
  /// What the repetition took.
  void spend(double ns) { spent_ns_ += ns; }

 private:
  BoundCall& call_;
  TimingLimits limits_;
  std::size_t begun_ = 0;
  double spent_ns_ = 0;
};

}  // namespace understudy::calibrator
