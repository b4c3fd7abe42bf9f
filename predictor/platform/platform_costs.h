#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "predictor/calls/call.h"
#include "predictor/calls/card.h"
#include "predictor/calls/costs.h"
#include "predictor/collectives/fabrics.h"
#include "predictor/operators/anchored.h"
#include "predictor/operators/operator_models.h"
#include "predictor/overheads/overheads.h"
#include "predictor/platform/ceilings.h"
#include "predictor/platform/platform.h"
#include "predictor/work/work.h"

namespace understudy::predictor {

/// The device that a program is predicted for.
struct PlatformDevice {
  /// A card, measured or described, or "cpu". Empty: the only measured device.
  std::string name;
  int threads = 1;                 ///< threads of operators on a CPU
  const Fabric* fabric = nullptr;  ///< between nodes; null: as measured, or one node at best
};
/// Returns the models' key of the device. Throws Error (usage) if the name is unknown, or empty
/// while several devices were measured.
[[nodiscard]] DeviceKey find_device(const OperatorModels& models, const PlatformDevice& device);

/// Returns the operator call of an instruction.
[[nodiscard]] OperatorCall call_of(const Program& program, const Instruction& instruction);

/// Returns true if recorded host times are those of issuing work to a device, which the profile
/// shows. Without device work they are the times of the work itself.
[[nodiscard]] bool has_issue_times(const Program& program);

/// Returns the models of the section `collectives`, empty without it. Throws Error (bad input) if
/// the section is damaged.
[[nodiscard]] CollectiveModels collectives_of(const Platform& platform);

/// Returns the time of a page's first touch, if `calibrate` measured it. Throws Error (bad input)
/// if the section is damaged.
[[nodiscard]] std::optional<double> page_fault_ns(const Platform& platform);

/// The model of a recorded time that stands in, since nothing tells it here.
inline constexpr const char* kAsRecorded = "as recorded";

/// What PlatformCosts takes from the recorded job.
struct RecordedParts {
  /// Gaps and, where work was issued to a device, host times. If null, gaps are the platform's.
  const Costs* costs = nullptr;
  /// Time of an operator's page faults on a host. Measured calls have none, because their results
  /// reuse the previous call's memory. If empty, page faults take no time.
  std::function<Estimate(const Program&, const Instruction&)> page_faults = {};
  std::optional<Card> card = {};  ///< that the programs were recorded on, if known
  /// True if the recorded step itself is predicted, with its host, on another card: each time on
  /// the device is then carried from `card`, which is set, as are `costs` (anchored.h).
  bool is_step = false;
};

/// Costs of the recorded step on another card, or by a platform's models and sections:
/// - communication by `collectives`, without it by an assumed latency and bandwidth;
/// - gaps as recorded, else by `overheads`, else assumed;
/// - host times of operators on a card by `overheads` if it knows the operator, else as recorded if
///   the program has issue times, else the median call of `overheads`, else as in timed calls.
class PlatformCosts final : public Costs {
 public:
  /// `platform` and `recorded.costs` must outlive it. Throws as find_device() does, and Error (bad
  /// input) if a section is damaged.
  PlatformCosts(const Platform& platform, const PlatformDevice& device,
                RecordedParts recorded = {});

  [[nodiscard]] OperatorCost of_operator(const Program& program,
                                         const Instruction& instruction) const override;
  [[nodiscard]] Estimate of_communication(const GroupComm& call) const override;
  [[nodiscard]] Estimate of_gap(const Program& program,
                                const Instruction& instruction) const override;
  [[nodiscard]] Estimate of_outside(const Program& program,
                                    const et_schema::DeviceWork& work) const override;
  [[nodiscard]] std::optional<Estimate> of_end(const Program& program) const override;
  [[nodiscard]] const DeviceKey& device() const { return key_; }
  /// Returns true if the platform tells what a host takes to issue operators.
  [[nodiscard]] bool knows_host() const { return overheads_ && !overheads_->operators.empty(); }

 private:
  [[nodiscard]] OperatorCost of_timed_work(const Instruction& instruction) const;
  [[nodiscard]] OperatorCost of_recorded(const Program& program,
                                         const Instruction& instruction) const;
  /// Returns the time in a step of a call that takes `burst` when it is timed by itself.
  [[nodiscard]] Estimate in_step(const OperatorCall& call, const Work& work, Estimate burst) const;
  /// Returns the FLOP a second that products sustain in a step: as measured on the card, else a
  /// known share of its peak.
  [[nodiscard]] double sustained_flops(DType dtype) const;
  [[nodiscard]] Estimate of_host(const Program& program, const Instruction& instruction,
                                 const Prediction& prediction, bool launches) const;
  /// Returns the time of recorded kernels on this card as that of a profile (anchored.h). Not
  /// modelled if a card is unknown: then the recorded time stands in, within 0 and twice that.
  [[nodiscard]] Estimate carried(const RecordedKernels& recorded) const;
  /// The same without a model of their operator. Communication keeps its time.
  [[nodiscard]] Estimate carried(const et_schema::KernelClassTimes& classes, double kernels,
                                 double ns) const;

  const Platform& platform_;
  DeviceKey key_;
  const Card& card_;
  RecordedParts recorded_;
  std::vector<Ceiling> ceilings_;  ///< that `calibrate` measured
  double sustained_share_;
  CollectiveModels collectives_;
  std::string network_;
  std::optional<HostOverheads> overheads_;
};

/// Returns the operator calls of benchmarks with recorded times as measurements: the device's
/// exclusive time if the profile shows device work, else the host's. The device is unknown ("cuda")
/// and assumed equal on all ranks; the threads of a host are OMP_NUM_THREADS. `source` names the
/// file. Throws Error (bad input) if no program has recorded times.
[[nodiscard]] std::vector<MeasuredCall> recorded_calls(const et_schema::Bench& bench,
                                                       const std::string& source);

/// Replaces "cuda" or "cuda:1" as the device of rows by the one card in `described` that no other
/// row names. Throws Error (usage) if several cards qualify.
void name_places(std::vector<MeasuredCall>& calls, const std::vector<Card>& described);

}  // namespace understudy::predictor
