#pragma once

#include <optional>
#include <string>
#include <vector>

#include "et_schema/model/measurement.h"

namespace understudy::replayer {

/// Milliseconds that these CPUs were busy since the system started, time that a hypervisor gave to
/// other machines included, by the text of /proc/stat. Null where it does not name each of them.
[[nodiscard]] std::optional<double> busy_ms(const std::string& proc_stat,
                                            const std::vector<int>& cpus, double ticks_per_s);

/// What this process and its host do from here on.
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
