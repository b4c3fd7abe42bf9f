#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "et_schema/model/report.h"

namespace understudy::replayer {

/// What the system and, where it can, the processor count while iterations run: sums over all
/// threads of the process. Counting itself costs nothing; it is read outside of the timed region.
class SystemCounting {
 public:
  /// Opens the processor's counters, of this thread and of those it starts from here on.
  SystemCounting();
  ~SystemCounting();
  SystemCounting(const SystemCounting&) = delete;
  SystemCounting& operator=(const SystemCounting&) = delete;

  /// Around each measured iteration.
  void begin();
  void end();
  /// Means over the iterations between begin() and end().
  [[nodiscard]] et_schema::SystemCounters mean() const;

  /// Sums since the process began.
  [[nodiscard]] et_schema::SystemCounters read() const;
  /// What tells a call's work, from one reading to the next, by the names of the report: page
  /// faults, and what the processor counts. Times and switches are too coarse for a call.
  [[nodiscard]] static std::map<std::string, double> of_call(
      const et_schema::SystemCounters& before, const et_schema::SystemCounters& after);

 private:
  std::vector<int> files_;  ///< of perf_event: instructions, cycles, cache misses; all or none
  std::string hardware_;    ///< "counted", or why not
  et_schema::SystemCounters before_;
  et_schema::SystemCounters sums_;
  std::uint64_t iterations_ = 0;
};

}  // namespace understudy::replayer
