#include "cupti_host.h"

#include <array>
#include <cmath>
#include <utility>

namespace understudy::replayer {

std::vector<const char*> cupti_names(const std::vector<std::string>& names) {
  std::vector<const char*> pointers;
  for (const std::string& name : names) {
    pointers.push_back(name.c_str());
  }
  return pointers;
}

CuptiHost::CuptiHost(const CuptiLibrary& library, std::string chip,
                     std::vector<std::uint8_t> availability)
    : library_(library),
      chip_(std::move(chip)),
      availability_(std::move(availability)),
      object_(make_object()) {}

CuptiHost::Object CuptiHost::make_object() const {
  const auto made =
      CUPTI_BLOCK(CUpti_Profiler_Host_Initialize_Params, CUPTI_PROFILER_TYPE_RANGE_PROFILER,
                  chip_.c_str(), availability_.empty() ? nullptr : availability_.data());
  return {library_.call("cuptiProfilerHostInitialize", made).pHostObject,
          [this](CUpti_Profiler_Host_Object* object) {
            library_.end("cuptiProfilerHostDeinitialize",
                         CUPTI_BLOCK(CUpti_Profiler_Host_Deinitialize_Params, object));
          }};
}

std::optional<CuptiConfiguration> CuptiHost::configure(std::vector<std::string> metrics) const {
  const Object object = make_object();
  std::vector<const char*> names = cupti_names(metrics);
  auto added = CUPTI_BLOCK(CUpti_Profiler_Host_ConfigAddMetrics_Params, object.get(), names.data(),
                           names.size());
  auto sized = CUPTI_BLOCK(CUpti_Profiler_Host_GetConfigImageSize_Params, object.get());
  if (library_.status_of("cuptiProfilerHostConfigAddMetrics", added) != CUPTI_SUCCESS ||
      library_.status_of("cuptiProfilerHostGetConfigImageSize", sized) != CUPTI_SUCCESS) {
    return std::nullopt;
  }
  std::vector<std::uint8_t> image(sized.configImageSize);
  library_.call("cuptiProfilerHostGetConfigImage",
                CUPTI_BLOCK(CUpti_Profiler_Host_GetConfigImage_Params, object.get(), image.size(),
                            image.data()));
  const auto passes =
      CUPTI_BLOCK(CUpti_Profiler_Host_GetNumOfPasses_Params, image.size(), image.data());
  return CuptiConfiguration{std::move(metrics), image,
                            library_.call("cuptiProfilerHostGetNumOfPasses", passes).numOfPasses};
}

std::vector<std::string> CuptiHost::metrics() const {
  constexpr std::array<std::pair<CUpti_MetricType, const char*>, 3> kRollups = {
      {{CUPTI_METRIC_TYPE_COUNTER, ".sum"},
       {CUPTI_METRIC_TYPE_RATIO, ".ratio"},
       {CUPTI_METRIC_TYPE_THROUGHPUT, ".avg.pct_of_peak_sustained_elapsed"}}};
  std::vector<std::string> names;
  for (const auto& [type, rollup] : kRollups) {
    const auto base =
        library_.call("cuptiProfilerHostGetBaseMetrics",
                      CUPTI_BLOCK(CUpti_Profiler_Host_GetBaseMetrics_Params, object_.get(), type));
    for (std::size_t i = 0; i < base.numMetrics; ++i) {
      names.push_back(std::string(base.ppMetricNames[i]) + rollup);
    }
  }
  return names;
}

et_schema::Counters CuptiHost::values(const std::vector<std::string>& metrics,
                                      const std::vector<std::uint8_t>& data,
                                      std::size_t range) const {
  std::vector<const char*> names = cupti_names(metrics);
  std::vector<double> values(metrics.size());
  library_.call(
      "cuptiProfilerHostEvaluateToGpuValues",
      CUPTI_BLOCK(CUpti_Profiler_Host_EvaluateToGpuValues_Params, object_.get(), data.data(),
                  data.size(), range, names.data(), names.size(), values.data()));
  et_schema::Counters counters;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) {
      counters.emplace(metrics[i], values[i]);
    }
  }
  return counters;
}

}  // namespace understudy::replayer
