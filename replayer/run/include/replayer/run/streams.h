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

/// On which stream a step is issued and what it waits for there.
struct StreamStep {
  std::uint32_t stream = 0;              ///< number in the plan; 0 is the current stream
  std::vector<std::uint32_t> waits_for;  ///< steps on other streams, ascending
  bool is_waited_for = false;
  bool uses_foreign_memory = false;  ///< made on another stream, and freed within the step
};

/// The streams of a step as its profile shows them.
struct StreamPlan {
  std::uint32_t streams = 1;
  std::vector<StreamStep> steps;  ///< by step; empty where one stream is all there is
};

/// Places steps on the streams that their instructions were recorded on (Timing::stream); the one
/// with most instructions becomes the current stream, and steps without one stay where the step
/// before was. A step waits for the last step on each other stream that wrote what it reads or
/// writes, or read what it writes: recorded events cannot be seen in a trace, flow of data can.
/// Communications are of the current stream, which the backend knows.
[[nodiscard]] StreamPlan plan_streams(const et_schema::Program& program, const BoundProgram& bound);

/// Throws Error (usage) where recorded streams are asked for on a CPU, or the program does not say
/// which they were.
void check_streams(const et_schema::Program& program, c10::Device device, Streams streams);

/// Issues steps by a plan: a hook of Machine::run. The tensors of a step that uses memory made on
/// another stream are made known to the allocator, those of other steps are not.
class StreamHook {
 public:
  /// `device` is no CPU. Takes its streams from LibTorch's pool.
  StreamHook(StreamPlan plan, const BoundProgram& bound, Machine& machine, c10::Device device);

  /// All other streams wait for the first one.
  void begin_iteration();
  void built(const Step& step);
  void called(const Step& step, const torch::jit::Stack& stack);
  void stored(const Step&) {}
  void dropped(const Step&) {}
  /// Back to the first stream, which waits for all others.
  void end_iteration();
  /// The same where an iteration does not come to its end: what runs on other streams is left.
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
