#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/model/comms.h"
#include "et_schema/model/program.h"

namespace understudy::predictor {

// The model's words, which all that plays programs speaks.
using et_schema::CommKind;
using et_schema::DType;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;

/// What one thing takes, with the interval that holds 9 of 10.
struct Estimate {
  double ns = 0;
  double low_ns = 0;
  double high_ns = 0;
  std::string model = {};  ///< "roofline", "two_clock+trees", "recorded"; never empty where ns > 0
  bool extrapolated = false;  ///< asked outside of what the model has seen
  bool modelled = true;       ///< false: a bound stands in, no model covers it
  bool operator==(const Estimate&) const = default;
};

/// A time that is known: no interval.
[[nodiscard]] inline Estimate known(double ns, std::string model) {
  return {.ns = ns, .low_ns = ns, .high_ns = ns, .model = std::move(model)};
}
/// Time and interval times `factor`, which is at least 0.
[[nodiscard]] inline Estimate scaled(Estimate estimate, double factor) {
  estimate.ns *= factor;
  estimate.low_ns *= factor;
  estimate.high_ns *= factor;
  return estimate;
}

/// What an operator takes of its host and of its device.
struct OperatorCost {
  Estimate host;               ///< of the issuing thread, waits for a device excluded
  Estimate device;             ///< of the stream that it is issued to; 0 where it runs on the host
  std::uint64_t launches = 0;  ///< kernels on the device
  bool operator==(const OperatorCost&) const = default;
};

/// One communication as all of its group's ranks take part in it.
struct CommCall {
  CommKind kind = CommKind::kBarrier;
  std::int64_t bytes = 0;  ///< nccl-tests' size of the call (comm_traits.h, CommBytes)
  int ranks = 1;           ///< of the group
  int recorded_ranks = 1;  ///< that it had when `sides` were recorded
  int nodes = 1;           ///< that these ranks are on
  bool on_device = false;  ///< the tensors lie on a GPU
  DType dtype = DType::kFloat32;
  /// Of all_to_allv: bytes from rank i to rank j at [i * ranks + j]; else empty.
  std::vector<std::int64_t> sent_bytes = {};
  /// The call of each rank, in group order, where it is one of programs'; else empty.
  std::vector<const Instruction*> sides = {};
};

/// What things take on one platform. Implementations are immutable after construction: calls from
/// several threads are safe, and equal questions have equal answers.
class Costs {
 public:
  Costs() = default;
  Costs(const Costs&) = delete;
  Costs& operator=(const Costs&) = delete;
  virtual ~Costs() = default;

  /// The cost of a kOp, kAlias, kNative or kKernel instruction of `program`.
  [[nodiscard]] virtual OperatorCost of_operator(const Program& program,
                                                 const Instruction& instruction) const = 0;
  /// From the arrival of the last rank to the end.
  [[nodiscard]] virtual Estimate of_communication(const CommCall& call) const = 0;
  /// Of the host from the end of the previous instruction on its thread to `instruction`.
  [[nodiscard]] virtual Estimate of_gap(const Program& program,
                                        const Instruction& instruction) const = 0;
  /// Of the host after the last instruction. Set if and only if all costs are those of the recorded
  /// step: the simulator then plays each recorded piece of device work by itself.
  [[nodiscard]] virtual std::optional<Estimate> of_end(const Program& /*program*/) const {
    return std::nullopt;
  }
};

}  // namespace understudy::predictor
