#pragma once

#include <ATen/core/stack.h>
#include <c10/core/Device.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "et_schema/program.h"
#include "et_schema/report.h"
#include "replayer/bound.h"
#include "replayer/run.h"

namespace understudy::replayer {

/// Nanoseconds that one reading of the clock adds to an interval.
[[nodiscard]] double clock_cost_ns();

/// Times each step: the call itself, and what the loop does around it. Frees are neither: the bare
/// loop that the loop is compared with frees as well.
class ProfileHook {
 public:
  ProfileHook(const BoundProgram& program, c10::Device device);

  void begin_iteration() { last_ = Clock::now(); }
  void built(const Step&);
  void called(const Step& step, const torch::jit::Stack&);
  void stored(const Step&);
  void dropped(const Step&);

  /// Seconds of each step's calls, one entry an iteration.
  [[nodiscard]] const std::vector<std::vector<double>>& calls() const { return calls_; }
  /// The loop's own nanoseconds an instruction, of the iterations so far, one entry each.
  [[nodiscard]] std::vector<double> overheads_ns() const;

 private:
  using Clock = std::chrono::steady_clock;

  const Step* first_;
  c10::Device device_;
  std::size_t steps_;
  Clock::time_point last_;
  double around_ns_ = 0;
  std::vector<std::vector<double>> calls_;  ///< by step
  std::vector<double> around_;              ///< by iteration, nanoseconds
};

/// Looks for NaN, Inf and subnormals in the floating results of operators that write.
class ScanHook {
 public:
  static constexpr std::uint8_t kNan = 1;
  static constexpr std::uint8_t kInf = 2;
  static constexpr std::uint8_t kSubnormal = 4;

  /// `health`: by slot, flags are added.
  explicit ScanHook(std::vector<std::uint8_t>& health) : health_(health) {}

  void built(const Step&) {}
  void called(const Step& step, const torch::jit::Stack& stack);
  void stored(const Step&) {}
  void dropped(const Step&) {}

  void look(et_schema::SlotId slot, const at::Tensor& tensor);

 private:
  std::vector<std::uint8_t>& health_;
};

}  // namespace understudy::replayer
