#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/backend.h"
#include "et_schema/report.h"
#include "replayer/bound.h"
#include "replayer/externals.h"
#include "replayer/run.h"

namespace understudy::replayer {

struct MeasureOptions {
  c10::Device device{c10::kCPU};
  int warmup = 0;
  std::optional<int> iterations;
  std::optional<double> seconds;
};

/// Measures iterations of a program that the trial has made fit: samples, value health, memory,
/// time by operator and collective, the loop's own cost. All ranks measure the same iterations.
class Measurement {
 public:
  Measurement(const et_schema::Program& program, BoundProgram& bound, Machine& machine,
              Externals& externals, backends::Backend& backend, MeasureOptions options);

  /// Fills the measured parts of the report.
  void run(et_schema::RankReport& report);

 private:
  /// Runs `iteration`; what an operator throws becomes an Error that names it.
  template <typename Iteration>
  void guarded(Iteration&& iteration);
  double iterate();
  void find_restore_interval();
  void advance();
  [[nodiscard]] bool scan_once(std::vector<std::uint8_t>& health,
                               std::vector<et_schema::ValueFinding>& findings);
  void measure_iterations(et_schema::RankReport& report);
  [[nodiscard]] bool is_last(std::size_t done, double spent_s);
  void scan_values(et_schema::RankReport& report);
  void profile(et_schema::RankReport& report);
  [[nodiscard]] bool any_rank(bool mine);

  const et_schema::Program& program_;
  BoundProgram& bound_;
  Machine& machine_;
  Externals& externals_;
  backends::Backend& backend_;
  MeasureOptions options_;
  std::size_t restore_every_ = 1;  ///< iterations between restores of the externals
  std::size_t since_restore_ = 0;
  std::vector<std::uint8_t> health_;  ///< by slot: what scans have seen, as flags
};

}  // namespace understudy::replayer
