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

/// The stream on which a step is issued, and what it waits for there.
struct StreamStep {
  std::uint32_t stream = 0;              ///< number in the plan; 0 is the current stream
  std::vector<std::uint32_t> waits_for;  ///< steps on other streams, ascending
  bool is_waited_for = false;
  /// The memory was made on another stream, and is freed within the step.
  bool uses_foreign_memory = false;
};

/// The streams of a step, from its profile.
struct StreamPlan {
  std::uint32_t streams = 1;
  std::vector<StreamStep> steps;  ///< by step; empty if there is only one stream
  /// Waits of one stream for another: those of the profile's events, those that only the flow of
  /// data tells, and those of the profile that find nothing to wait for, or nobody who waits.
  std::uint64_t recorded_waits = 0;
  std::uint64_t inferred_waits = 0;
  std::uint64_t missing_waits = 0;
};

/// Places steps on the streams on which their instructions were recorded (Timing::stream). The
/// stream with most instructions becomes the current one, and a step without a stream stays on that
/// of the step before. A step waits where the original's stream waited for an event
/// (RecordedProfile::stream_waits); else for the last step on each other stream that wrote what it
/// reads or writes, or that read what it writes. A communication starts behind the stream that the
/// original issued it on, which is the current one unless it had one of its own; what joins it is
/// the recorded stream of its wait, else that of the step that needs it.
[[nodiscard]] StreamPlan plan_streams(const et_schema::Program& program, const BoundProgram& bound);

/// Throws Error (usage) if recorded streams are asked for on a CPU, or if the program does not say
/// which they were.
void check_streams(const et_schema::Program& program, c10::Device device,
                   std::optional<Streams> streams);

/// Issues steps by a plan, as a hook of Machine::run. If a step uses memory made on another stream,
/// the allocator is told of its tensors; of other steps it is not.
class StreamHook : public NoHook {
 public:
  /// `device` is not a CPU. Takes its streams from LibTorch's pool.
  StreamHook(StreamPlan plan, const BoundProgram& bound, Machine& machine, c10::Device device);

  /// Makes all other streams wait for the first one.
  void begin_iteration();
  void built(const Step& step);
  void called(const Step& step, const torch::jit::Stack& stack);
  /// Returns to the first stream and makes it wait for all others.
  void end_iteration();
  /// Returns to it when an iteration does not reach its end, and leaves what runs on other streams.
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
