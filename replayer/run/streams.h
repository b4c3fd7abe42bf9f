#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "replayer/bind/bound.h"
#include "replayer/options/options.h"
#include "replayer/run/run.h"

namespace understudy::replayer {

/// The stream that a step is issued to, and the steps that it waits for.
struct StreamStep {
  std::uint32_t stream = 0;              ///< number in the plan; 0 is the current stream
  std::vector<std::uint32_t> waits_for;  ///< steps on other streams, ascending
  bool is_waited_for = false;
  /// The step touches memory that was allocated on another stream.
  bool uses_foreign_memory = false;
};

/// The streams of a step, from its profile.
struct StreamPlan {
  std::uint32_t streams = 1;
  std::vector<StreamStep> steps;  ///< empty if there is only one stream
  /// Numbers of waits between streams. Recorded waits come from the profile's events, inferred ones
  /// from data flow alone. Missing waits are in the profile, but the plan lacks the step that
  /// waits, or the step to wait for.
  std::uint64_t recorded_waits = 0;
  std::uint64_t inferred_waits = 0;
  std::uint64_t missing_waits = 0;
};

/// Assigns steps to the streams of their recorded instructions (Timing::stream). The stream with
/// most instructions becomes the current one; a step without a stream uses that of the step before.
/// A step waits where the original's stream waited for an event (RecordedProfile::stream_waits)
/// and, unless that covers it, for the last step on each other stream that wrote its inputs or
/// outputs, or read its outputs. A communication starts after the stream that the original issued
/// it on: its own, or else the current one. It is joined on the recorded stream of its wait, else
/// on that of the step that needs it.
[[nodiscard]] StreamPlan plan_streams(const et_schema::Program& program, const BoundProgram& bound);

/// Throws Error (usage) if recorded streams are requested on a CPU, or if the program has none.
void check_streams(const et_schema::Program& program, c10::Device device,
                   std::optional<Streams> streams);

/// Issues steps by a plan, as a hook of Machine::run. If a step uses memory made on another stream,
/// its tensors are reported to the allocator; otherwise they are not.
class StreamHook : public NoHook {
 public:
  /// `device` must not be a CPU. Streams come from LibTorch's pool.
  StreamHook(StreamPlan plan, const BoundProgram& bound, Machine& machine, c10::Device device);

  /// Makes all other streams wait for the first one.
  void begin_iteration();
  void built(const Step& step);
  void called(const Step& step, const torch::jit::Stack& stack);
  /// Returns to the first stream and makes it wait for all others.
  void end_iteration();
  /// Returns to the first stream when an iteration is abandoned, without waiting for the others.
  void abandon_iteration() { use(0); }

 private:
  [[nodiscard]] std::size_t number_of(const Step& step) const {
    return static_cast<std::size_t>(&step - bound_.steps.data());
  }
  void use(std::uint32_t stream);
  void keep_for_stream(const c10::IValue& value) const;

  StreamPlan plan_;
  const BoundProgram& bound_;
  Machine& machine_;
  c10::Device device_;
  std::vector<c10::Stream> streams_;
  std::vector<std::optional<c10::Event>> events_;  ///< by step
  std::uint32_t current_ = 0;
};

}  // namespace understudy::replayer
