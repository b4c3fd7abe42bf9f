#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/formats/collective_rows/collective_rows.h"
#include "et_schema/model/program.h"

namespace understudy::predictor {

// Names of et_schema's program model, shared by all code that simulates programs.
using et_schema::CommKind;
using et_schema::DType;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;

/// A predicted time and its 90 % interval.
struct Estimate {
  double ns = 0;
  double low_ns = 0;
  double high_ns = 0;
  /// "roofline", "two_clock+trees", "recorded"; never empty if ns > 0.
  std::string model = {};
  bool extrapolated = false;  ///< the call is outside of the range that the model was fitted to
  bool modelled = true;       ///< false: no model covers the call, a bound is used instead
  double bound_ns = 0;        ///< at the device's peaks, at least a launch; 0: unknown
  bool operator==(const Estimate&) const = default;
};

/// Returns a known time: its interval has no width.
[[nodiscard]] inline Estimate known(double ns, std::string model) {
  return {.ns = ns, .low_ns = ns, .high_ns = ns, .model = std::move(model)};
}
/// Returns a time whose interval is [ns / e^width, ns * e^width].
[[nodiscard]] inline Estimate within(double ns, double width, std::string model = {}) {
  return {.ns = ns,
          .low_ns = ns * std::exp(-width),
          .high_ns = ns * std::exp(width),
          .model = std::move(model)};
}
/// Returns a time that no model covers: its interval is a factor of ten on either side.
[[nodiscard]] inline Estimate guessed(double ns, std::string model) {
  constexpr double kUnknown = 10;
  return {ns, ns / kUnknown, ns * kUnknown, std::move(model), true, false};
}
/// Returns the time and its interval multiplied by `factor`, which must be at least 0.
[[nodiscard]] inline Estimate scaled(Estimate estimate, double factor) {
  estimate.ns *= factor;
  estimate.low_ns *= factor;
  estimate.high_ns *= factor;
  return estimate;
}

/// Adds the time and its interval to `sum`, which keeps its model.
inline void add_estimate(const Estimate& estimate, Estimate& sum) {
  sum.ns += estimate.ns;
  sum.low_ns += estimate.low_ns;
  sum.high_ns += estimate.high_ns;
}

/// An operator's time on its host and on its device.
struct OperatorCost {
  Estimate host;               ///< time of the issuing thread, without waits for a device
  Estimate device;             ///< time on the stream it is issued to; 0 if it runs on the host
  std::uint64_t launches = 0;  ///< number of kernels on the device
  bool operator==(const OperatorCost&) const = default;
};

/// One communication of a simulated job.
struct GroupComm : et_schema::CollectiveCall {
  int recorded_ranks = 0;  ///< ranks of the group when `sides` were recorded; 0: as many
  /// all_to_allv only: bytes from rank i to rank j at [i * ranks + j].
  std::vector<std::int64_t> sent_bytes = {};
  /// The recorded call of each rank, in group order; empty if the call is not from programs.
  std::vector<const Instruction*> sides = {};
};

/// Times on one platform. Implementations are immutable after construction: they may be called from
/// several threads, and equal arguments give equal results.
class Costs {
 public:
  Costs() = default;
  Costs(const Costs&) = delete;
  Costs& operator=(const Costs&) = delete;
  virtual ~Costs() = default;

  /// Returns the cost of a kOp, kAlias, kNative or kKernel instruction of `program`.
  [[nodiscard]] virtual OperatorCost of_operator(const Program& program,
                                                 const Instruction& instruction) const = 0;
  /// Returns the time from the arrival of the last rank to the end.
  [[nodiscard]] virtual Estimate of_communication(const GroupComm& call) const = 0;
  /// Returns the host time between the previous instruction on the same thread and `instruction`.
  [[nodiscard]] virtual Estimate of_gap(const Program& program,
                                        const Instruction& instruction) const = 0;
  /// Returns the time of recorded device work that no instruction launched.
  [[nodiscard]] virtual Estimate of_outside(const Program& /*program*/,
                                            const et_schema::DeviceWork& work) const {
    return known(static_cast<double>(work.device_ns), "recorded");
  }
  /// Returns the host time after the last instruction. Set if and only if all costs are the
  /// recorded step's own: the simulator then simulates each recorded device work separately.
  [[nodiscard]] virtual std::optional<Estimate> of_end(const Program& /*program*/) const {
    return std::nullopt;
  }
};

/// Costs of communication alone: everything else takes no time.
class CommCosts final : public Costs {
 public:
  explicit CommCosts(std::function<Estimate(const GroupComm&)> communication)
      : communication_(std::move(communication)) {}

  [[nodiscard]] OperatorCost of_operator(const Program& /*program*/,
                                         const Instruction& /*instruction*/) const override {
    return {};
  }
  [[nodiscard]] Estimate of_gap(const Program& /*program*/,
                                const Instruction& /*instruction*/) const override {
    return {};
  }
  [[nodiscard]] Estimate of_communication(const GroupComm& call) const override {
    return communication_(call);
  }

 private:
  std::function<Estimate(const GroupComm&)> communication_;
};

}  // namespace understudy::predictor
