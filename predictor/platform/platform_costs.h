#pragma once

#include <functional>
#include <string>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "predictor/calls/call.h"
#include "predictor/calls/card.h"
#include "predictor/calls/costs.h"
#include "predictor/operators/operator_models.h"
#include "predictor/platform/platform.h"

namespace understudy::predictor {

/// Where a program is to run.
struct PlatformDevice {
  std::string name;  ///< a card, measured or described, or "cpu"; empty: the only one measured
  int threads = 1;   ///< of operators on a CPU
};
/// The models' key of that device. Throws Error (usage): a name that is not known, none where there
/// are several.
[[nodiscard]] DeviceKey find_device(const OperatorModels& models, const PlatformDevice& device);

/// The operator call that an instruction makes.
[[nodiscard]] OperatorCall call_of(const Program& program, const Instruction& instruction);

/// Whether recorded host times are those of issuing work to a device: the profile saw such work. On
/// a host they are those of the work itself.
[[nodiscard]] bool has_issue_times(const Program& program);

/// What models of other rooms answer; what is left empty is answered by bounds, not `modelled`.
struct CostParts {
  std::function<Estimate(const CommCall&)> communication = {};
  std::function<Estimate(const Program&, const Instruction&)> gap = {};
  /// What the page faults take that an operator meets on a host. Measured calls meet none: their
  /// results lie where those of the call before lay. Without it they take nothing.
  std::function<Estimate(const Program&, const Instruction&)> page_faults = {};
  /// The issuing thread's time of an operator on a card.
  std::function<Estimate(const Program&, const Instruction&)> host = {};
};

/// Costs by a platform's models: operators by theirs; communication and the host by `parts`.
/// Without parts: host times as recorded in the program, where it has issue times, a gap that
/// nobody measured, communication by a latency and a bandwidth that any network has.
class PlatformCosts final : public Costs {
 public:
  /// `platform` must outlive it. Throws what find_device() throws.
  PlatformCosts(const Platform& platform, const PlatformDevice& device, CostParts parts = {});

  [[nodiscard]] OperatorCost of_operator(const Program& program,
                                         const Instruction& instruction) const override;
  [[nodiscard]] Estimate of_communication(const CommCall& call) const override;
  [[nodiscard]] Estimate of_gap(const Program& program,
                                const Instruction& instruction) const override;
  [[nodiscard]] const DeviceKey& device() const { return key_; }

 private:
  [[nodiscard]] Estimate of_host(const Program& program, const Instruction& instruction,
                                 const Prediction& prediction) const;

  const Platform& platform_;
  DeviceKey key_;
  CostParts parts_;
};

/// The operator calls of benchmarks that hold recorded times, as measured: the device's exclusive
/// time where the profile saw work of a device, else the host's. What device it was is not told
/// ("cuda"), all ranks' are taken for equal; of a host no threads but those of OMP_NUM_THREADS.
/// `source` names the file. Throws Error (bad input): no program has recorded times.
[[nodiscard]] std::vector<MeasuredCall> recorded_calls(const et_schema::Bench& bench,
                                                       const std::string& source);

/// Rows of a GPU that only its place names ("cuda", "cuda:1") are of the one card in `described`
/// that no other row names: they get its name. Throws Error (usage) where several could be meant.
void name_places(std::vector<MeasuredCall>& calls, const std::vector<Card>& described);

}  // namespace understudy::predictor
