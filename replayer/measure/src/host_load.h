#pragma once

#include <optional>
#include <string>
#include <vector>

#include "et_schema/model/measurement.h"

namespace understudy::replayer {

/// Parses /proc/stat. Returns the milliseconds that these CPUs were busy since the system started,
/// including time that a hypervisor assigned to other machines. Null if a CPU is missing.
[[nodiscard]] std::optional<double> busy_ms(const std::string& proc_stat,
                                            const std::vector<int>& cpus, double ticks_per_s);

/// Measures the load of this process and its host from construction on.
class HostLoadMeter {
 public:
  HostLoadMeter();
  [[nodiscard]] et_schema::HostLoad load() const;

 private:
  struct Reading {
    double wall_ms = 0;
    double own_ms = 0;
    std::optional<double> busy_ms;
  };
  [[nodiscard]] Reading read() const;

  std::vector<int> cpus_;
  Reading begin_;
};

}  // namespace understudy::replayer
