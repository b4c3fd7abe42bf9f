#pragma once

#include <cstdint>
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
  /// Stores the means over the iterations between begin() and end(), and the state of "perf".
  void report(et_schema::RunFigures& figures) const;

  /// Returns sums since the process began.
  [[nodiscard]] et_schema::Counters read() const;
  /// Returns the differences of two readings around a call, by the report's names: only page faults
  /// and processor counters. Times and context switches are too coarse for a call.
  [[nodiscard]] static et_schema::Counters of_call(const et_schema::Counters& before,
                                                   const et_schema::Counters& after);

 private:
  std::vector<int> files_;  ///< perf_event's instructions, cycles and cache misses; all or none
  std::string state_;       ///< kCounted, or the reason for none
  et_schema::Counters before_;
  et_schema::Counters sums_;
  std::uint64_t iterations_ = 0;
};

}  // namespace understudy::replayer
