#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "predictor/calls/costs.h"
#include "predictor/collectives/rows.h"
#include "predictor/simulate/job.h"

namespace understudy::predictor {

struct Flow;
struct ObservedComm;

/// Times of the original, from the linked profile (docs/metrics.md, "Recorded times"). Waits of
/// operators for their device and of communications for other ranks are subtracted:
/// docs/prediction.md, "Recorded costs".
class RecordedCosts final : public Costs {
 public:
  /// `job` must outlive it. Throws Error (usage) if a program has no profile.
  explicit RecordedCosts(const Job& job);

  [[nodiscard]] OperatorCost of_operator(const Program& program,
                                         const Instruction& instruction) const override;
  [[nodiscard]] Estimate of_communication(const GroupComm& call) const override;
  [[nodiscard]] Estimate of_gap(const Program& program,
                                const Instruction& instruction) const override;
  [[nodiscard]] std::optional<Estimate> of_end(const Program& program) const override;

  /// Returns a communication's recorded time on one rank, with its waits for others.
  [[nodiscard]] std::optional<double> observed_ns(const Instruction& call) const;

  /// Returns how many of the unobserved step's page faults count for an instruction: they are
  /// spread in proportion to host time. 0 if their number is unknown.
  [[nodiscard]] double page_faults_of(const Program& program, const Instruction& instruction) const;

 private:
  struct Row {
    double host_ns = 0;
    double gap_ns = 0;
    double device_ns = 0;
    double share = 0;  ///< of the program's host time
    std::uint64_t launches = 0;
  };
  [[nodiscard]] Estimate recorded_communication(const GroupComm& call) const;
  [[nodiscard]] const Row& row_of(const Program& program, const Instruction& instruction) const;
  void add(const Program& program, const Flow& flow);
  void note_communication(const Program& program, const Instruction& call,
                          const std::optional<ObservedComm>& seen);

  bool is_partial_;
  std::unordered_map<const Program*, std::vector<Row>> rows_;
  std::unordered_map<const Program*, double> ends_;  ///< set if device work is recorded
  std::unordered_map<const Instruction*, double> communications_;
  std::optional<double> ns_per_byte_;  ///< CPU communication only
};

/// Scales the time that a call took between its recorded ranks to the ranks that it has now, on the
/// same network: a share of it grows with the steps, the rest with the link bytes
/// (collectives/traffic.h). Throws Error (usage) if only one rank was recorded.
[[nodiscard]] Estimate scaled_to_ranks(Estimate estimate, const GroupComm& call);

inline constexpr const char* kNoClocks =
    "No collective of all ranks on a device sets the ranks' clocks: their steps are taken to begin "
    "together.";

/// Returns the start of each rank's recorded step, relative to the first. A collective's kernel
/// ends at the same moment on all ranks, so the first collective of all ranks aligns their clocks.
/// Empty without one: all start together, which kNoClocks says.
[[nodiscard]] std::vector<std::int64_t> recorded_start_times(const Job& job);

/// Returns the recorded times of communication between GPUs: a row for each kind, size and group. A
/// call's time is the shortest of its ranks, because the rank that joins last does not wait. A call
/// counts only if the profiles of all its ranks show it. CPU times include waits and do not count.
/// `source` names the file. Throws Error (bad input) as simulate() does.
[[nodiscard]] ReadCollectives recorded_comms(const Job& job, const std::string& source);

}  // namespace understudy::predictor
