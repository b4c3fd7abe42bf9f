#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "et_schema/model/report.h"
#include "hooks.h"
#include "replayer/bind/bound.h"

namespace understudy::replayer {

/// Returns the size in bytes of a call as nccl-tests defines it: see docs/metrics.md.
[[nodiscard]] std::uint64_t collective_bytes(const backends::Call& call, int group_size);

/// Returns when the communication that this step (a start or a wait) completes has ended, at most
/// `now`. Unset if the step completes none, or one in device memory.
[[nodiscard]] backends::Ended end_of_comm(const BoundProgram& bound, const Step& step,
                                          std::chrono::steady_clock::time_point now);

/// Measures how communications overlap with operators, in passes where each starts and is waited
/// for as recorded. Host memory only, since the host does not wait for a device's communications.
class OverlapHook : public NoHook {
 public:
  using Clock = std::chrono::steady_clock;
  /// Seconds of a communication, one entry per pass.
  struct Times {
    std::vector<double> exposed_s;    ///< host time in its start and its wait
    std::vector<double> in_flight_s;  ///< from its start to its end
    std::vector<double> arrival_s;    ///< from the begin of the pass to its start
  };

  /// `issue` paces and slows operators; may be null.
  OverlapHook(const BoundProgram& bound, IssueHook* issue)
      : bound_(bound), issue_(issue), starts_(bound.comms.size()), times_(bound.comms.size()) {}

  void begin_pass() { begin_ = Clock::now(); }
  void built(const Step& step);
  void called(const Step& step, const torch::jit::Stack& stack);
  /// Returns the times by communication.
  [[nodiscard]] const std::vector<Times>& times() const { return times_; }

 private:
  const BoundProgram& bound_;
  IssueHook* issue_;
  Clock::time_point begin_;
  Clock::time_point built_;
  std::vector<Clock::time_point> starts_;
  std::vector<Times> times_;
};

/// Collects times of collectives in one row for each name, group and size.
class CollectiveTimes {
 public:
  /// Adds a call of an iteration; `seconds` has one entry per iteration.
  void add(const std::string& name, const BoundComm& comm, const std::vector<double>& seconds,
           const OverlapHook::Times& beside);
  [[nodiscard]] std::vector<et_schema::CollectiveTime> rows() const;

 private:
  struct Entry {
    et_schema::CommKind kind = et_schema::CommKind::kBarrier;
    int group_size = 1;
    std::uint64_t count = 0;
    std::vector<double> seconds;
    OverlapHook::Times beside;
  };
  std::map<std::tuple<std::string, std::string, std::uint64_t>, Entry> entries_;
};

/// Returns the time of all communications of an iteration, from their medians.
[[nodiscard]] et_schema::CommunicationUse communication_use(
    const std::vector<OverlapHook::Times>& times);

/// Returns for each communication the sum of the times of its start and its wait, in each pass.
[[nodiscard]] std::vector<std::vector<double>> times_of_comms(
    const BoundProgram& bound, const std::vector<std::vector<double>>& calls_s);

}  // namespace understudy::replayer
