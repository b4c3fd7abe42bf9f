#pragma once

#include <cupti_profiler_host.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cupti_library.h"
#include "et_schema/facts/counters.h"

namespace understudy::replayer {

/// Metrics that a chip counts together, and how CUPTI programs it for them.
struct CuptiConfiguration {
  std::vector<std::string> metrics;
  std::vector<std::uint8_t> image;
  std::size_t passes = 0;
};

/// What CUPTI knows about the metrics of a chip, such as "GH100". Needs no GPU.
class CuptiHost {
 public:
  /// `availability`: the image of the device's counters. If it is empty, the chip has all. Throws
  /// Error (failed), also if CUPTI does not know the chip. The library must outlive the object.
  CuptiHost(const CuptiLibrary& library, std::string chip,
            std::vector<std::uint8_t> availability = {});

  /// Returns nothing if the chip lacks one of the metrics, or cannot count them together.
  [[nodiscard]] std::optional<CuptiConfiguration> configure(std::vector<std::string> metrics) const;
  /// Returns all metrics, each as a sum, a ratio or a percentage of its peak.
  [[nodiscard]] std::vector<std::string> metrics() const;
  /// Returns the values of a range in an image of counter data, without those that are not finite.
  [[nodiscard]] et_schema::Counters values(const std::vector<std::string>& metrics,
                                           const std::vector<std::uint8_t>& data,
                                           std::size_t range) const;

 private:
  using Object =
      std::unique_ptr<CUpti_Profiler_Host_Object, std::function<void(CUpti_Profiler_Host_Object*)>>;
  [[nodiscard]] Object make_object() const;

  const CuptiLibrary& library_;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  Object object_;  ///< without a configuration
};

/// Returns the names as CUPTI's functions read them, which change nothing.
[[nodiscard]] std::vector<const char*> cupti_names(const std::vector<std::string>& names);

}  // namespace understudy::replayer
