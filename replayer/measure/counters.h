#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "et_schema/model/report.h"

namespace understudy::replayer {

/// Counters of the system and, if available, of the processor while iterations run: sums over all
/// threads of the process. Counting itself costs nothing; counters are read outside of the timed
/// region.
class SystemCounting {
 public:
  /// Opens the processor's counters for this thread and for the threads that it starts later.
  SystemCounting();
  ~SystemCounting();
  SystemCounting(const SystemCounting&) = delete;
  SystemCounting& operator=(const SystemCounting&) = delete;

  /// begin() and end() must be called around each measured iteration.
  void begin();
  void end();
  /// Returns means over the iterations between begin() and end().
  [[nodiscard]] et_schema::SystemCounters mean() const;

  /// Returns sums since the process began.
  [[nodiscard]] et_schema::SystemCounters read() const;
  /// Returns the differences of two readings around a call, by the report's names: only page faults
  /// and processor counters. Times and context switches are too coarse for a call.
  [[nodiscard]] static std::map<std::string, double> of_call(
      const et_schema::SystemCounters& before, const et_schema::SystemCounters& after);

 private:
  std::vector<int> files_;  ///< perf_event's instructions, cycles and cache misses; all or none
  std::string hardware_;    ///< "counted", or the reason for none
  et_schema::SystemCounters before_;
  et_schema::SystemCounters sums_;
  std::uint64_t iterations_ = 0;
};

}  // namespace understudy::replayer
