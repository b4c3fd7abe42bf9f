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
#include "predictor/operators/operator_models.h"
#include "predictor/platform/platform.h"

namespace understudy::predictor {

/// The device that a program is predicted for.
struct PlatformDevice {
  /// A card, measured or described, or "cpu". Empty: the only measured device.
  std::string name;
  int threads = 1;  ///< threads of operators on a CPU
};
/// Returns the models' key of the device. Throws Error (usage) if the name is unknown, or empty
/// while several devices were measured.
[[nodiscard]] DeviceKey find_device(const OperatorModels& models, const PlatformDevice& device);

/// Returns the operator call of an instruction.
[[nodiscard]] OperatorCall call_of(const Program& program, const Instruction& instruction);

/// Returns true if recorded host times are those of issuing work to a device, which the profile
/// shows. Without device work they are the times of the work itself.
[[nodiscard]] bool has_issue_times(const Program& program);

/// Costs from other sections. For an empty part, PlatformCosts uses its default.
struct CostParts {
  std::function<Estimate(const GroupComm&)> communication = {};
  std::function<Estimate(const Program&, const Instruction&)> gap = {};
  /// Time of an operator's page faults on a host. Measured calls have none, because their results
  /// reuse the previous call's memory. If empty, page faults take no time.
  std::function<Estimate(const Program&, const Instruction&)> page_faults = {};
  /// The issuing thread's time for an operator on a card.
  std::function<Estimate(const Program&, const Instruction&)> host = {};
  /// The card that the programs were recorded on, if known.
  std::optional<Card> recorded_on = {};
};

/// Costs by a platform's models: operators by `platform`, communication and the host by `parts`.
/// Defaults for empty parts: host times as recorded if the program has issue times, otherwise as in
/// timed calls; an assumed gap; communication with an assumed latency and bandwidth.
class PlatformCosts final : public Costs {
 public:
  /// `platform` must outlive it. Throws as find_device() does.
  PlatformCosts(const Platform& platform, const PlatformDevice& device, CostParts parts = {});

  [[nodiscard]] OperatorCost of_operator(const Program& program,
                                         const Instruction& instruction) const override;
  [[nodiscard]] Estimate of_communication(const GroupComm& call) const override;
  [[nodiscard]] Estimate of_gap(const Program& program,
                                const Instruction& instruction) const override;
  [[nodiscard]] Estimate of_outside(const Program& program,
                                    const et_schema::DeviceWork& work) const override;
  [[nodiscard]] const DeviceKey& device() const { return key_; }

 private:
  [[nodiscard]] Estimate of_host(const Program& program, const Instruction& instruction,
                                 const Prediction& prediction) const;
  /// Returns the time of recorded kernels of a class on this card, without a model of their
  /// operator: as the times of a profile (anchored.h). Communication keeps its time. Not modelled
  /// if the class or a card is unknown: then the recorded time stands in, within 0 and twice that.
  [[nodiscard]] Estimate carried(std::string_view kernel_class, double kernels, double ns) const;
  [[nodiscard]] Estimate carried(const et_schema::KernelClassTimes& classes, double kernels,
                                 double ns) const;

  const Platform& platform_;
  DeviceKey key_;
  CostParts parts_;
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
