#pragma once

#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "hooks.h"
#include "replayer/bind/bound.h"

namespace understudy::replayer {

/// Adds to LibTorch's profile what the profiler does not record: steps, and communications as
/// torch.distributed records them.
class ProfiledHook : public NoHook {
 public:
  using Clock = std::chrono::steady_clock;
  /// A communication from its start to its end.
  struct Span {
    std::size_t comm = 0;  ///< its number
    std::string name;
    Clock::time_point begin;
    Clock::time_point end;
  };

  /// `issue` paces and slows operators; may be null.
  ProfiledHook(const BoundProgram& bound, int rank, int world_size, IssueHook* issue)
      : bound_(bound),
        rank_(rank),
        world_size_(world_size),
        issue_(issue),
        starts_(bound.comms.size()) {}

  /// Begins the recorded step; earlier steps warmed up the profiler.
  void begin_step();
  void end_step() { step_.reset(); }
  void built(const Step& step);
  void called(const Step& step, const torch::jit::Stack& stack);

  /// Returns the time when the step began.
  [[nodiscard]] Clock::time_point begin() const { return begin_; }
  [[nodiscard]] const std::vector<Span>& spans() const { return spans_; }
  [[nodiscard]] const BoundComm& comm_of(const Span& span) const { return bound_.comms[span.comm]; }

 private:
  /// The start of a communication. The step that ends the communication does not know its name.
  struct Start {
    std::string name;
    Clock::time_point time;
  };

  void record(const Step& step);

  const BoundProgram& bound_;
  int rank_;
  int world_size_;
  IssueHook* issue_;
  Clock::time_point begin_;
  std::vector<Start> starts_;  ///< by communication
  std::vector<Span> spans_;
  std::optional<at::RecordFunction> step_;
  std::optional<c10::DebugInfoGuard> debug_info_;
  std::optional<at::RecordFunction> record_;
};

/// Runs LibTorch's profiler from construction on.
class StepProfiler {
 public:
  explicit StepProfiler(c10::Device device);
  StepProfiler(const StepProfiler&) = delete;
  StepProfiler& operator=(const StepProfiler&) = delete;
  ~StepProfiler();

  /// Stops the profiler and returns its Kineto profile as JSON. Adds the rank, and the hook's spans
  /// on threads of their own: a group's collectives follow each other on one thread; messages that
  /// overlap are on several. Kineto writes to the temporary file `path`, which is removed. Throws
  /// Error (failed) if Kineto wrote nothing.
  [[nodiscard]] std::string end(const ProfiledHook& hook, int rank, int world_size,
                                const std::string& path);

 private:
  bool is_on_ = false;
};

}  // namespace understudy::replayer
