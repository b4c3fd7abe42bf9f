#pragma once

#include <cupti_range_profiler.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cupti_host.h"

namespace understudy::replayer {

/// Counts the metrics of one configuration in ranges of a CUDA context, pass by pass. All functions
/// throw Error (failed).
class CuptiRanges {
 public:
  /// The library and the configuration must outlive the object.
  CuptiRanges(const CuptiLibrary& library, CUcontext context,
              const CuptiConfiguration& configuration, std::size_t ranges);
  CuptiRanges(const CuptiRanges&) = delete;
  CuptiRanges& operator=(const CuptiRanges&) = delete;
  ~CuptiRanges();

  void begin_pass();
  void begin_range(std::size_t range);
  void end_range();
  /// Returns true if this was the last pass.
  [[nodiscard]] bool end_pass();
  /// Adds the metrics of each range that ran to `of_ranges`, after the last pass.
  void read(const CuptiHost& host, std::vector<et_schema::Counters>& of_ranges);

 private:
  /// Calls a function on the profiler's object.
  template <typename Block>
  Block run(const char* function, Block block) const {
    block.pRangeProfilerObject = object_;
    return library_.call(function, block);
  }

  const CuptiLibrary& library_;
  const CuptiConfiguration& configuration_;
  CUpti_RangeProfiler_Object* object_ = nullptr;
  std::vector<std::uint8_t> data_;  ///< CUPTI's image of counter data
};

}  // namespace understudy::replayer
