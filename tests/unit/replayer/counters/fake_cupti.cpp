#include "fake_cupti.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace {

FakeCupti fake;
bool is_initialized = false;
constexpr std::size_t kImageBytes = 8;
constexpr std::size_t kAvailabilityBytes = 16;

std::vector<std::vector<std::string>> configurations;
struct Ranges {
  std::size_t configuration = 0;
  std::vector<std::string> names = {};
  std::size_t passes = 0;
  bool is_decoded = false;
};
std::vector<Ranges> images;  ///< by the number in an image of counter data

std::size_t number_in(const std::uint8_t* image) {
  std::size_t number = 0;
  std::memcpy(&number, image, kImageBytes);
  return number;
}

std::size_t passes_of(const Ranges& ranges) {
  return (configurations[ranges.configuration].size() + fake.metrics_of_pass - 1) /
         fake.metrics_of_pass;
}

template <typename Block>
CUptiResult begin(const char* function, const Block* block, std::size_t size) {
  if (const auto failure = fake.failures.find(function);
      failure != fake.failures.end() && failure->second.after-- <= 0) {
    return failure->second.status;
  }
  return block->structSize == size && block->pPriv == nullptr ? CUPTI_SUCCESS
                                                              : CUPTI_ERROR_INVALID_PARAMETER;
}

}  // namespace

/// CUPTI's objects, which its headers only name.
struct CUpti_Profiler_Host_Object {
  std::vector<std::string> metrics;
};
struct CUpti_RangeProfiler_Object {
  std::uint8_t* image = nullptr;
  bool is_started = false;
  bool is_in_range = false;
  std::size_t range = 0;  ///< of this pass, so far
};

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot be in parentheses
#define PLAYED(function, Block)                                                \
  static CUptiResult play_##function(Block& block);                            \
  extern "C" CUptiResult function(Block* pParams) {                            \
    const CUptiResult status = begin(#function, pParams, Block##_STRUCT_SIZE); \
    return status == CUPTI_SUCCESS ? play_##function(*pParams) : status;       \
  }                                                                            \
  static CUptiResult play_##function([[maybe_unused]] Block& block)
// NOLINTEND(bugprone-macro-parentheses)

extern "C" FakeCupti* fake_cupti() {
  return &fake;
}

extern "C" CUptiResult cuptiGetResultString(CUptiResult result, const char** pstr) {
  *pstr = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
                                                        : "CUPTI_ERROR_OTHER";
  return CUPTI_SUCCESS;
}

PLAYED(cuptiProfilerInitialize, CUpti_Profiler_Initialize_Params) {
  is_initialized = true;
  return CUPTI_SUCCESS;
}
PLAYED(cuptiProfilerDeInitialize, CUpti_Profiler_DeInitialize_Params) {
  is_initialized = false;
  return CUPTI_SUCCESS;
}
PLAYED(cuptiProfilerDeviceSupported, CUpti_Profiler_DeviceSupported_Params) {
  const auto level = [](CUpti_Profiler_Support_Level planted) {
    return planted == CUPTI_PROFILER_CONFIGURATION_UNKNOWN ? CUPTI_PROFILER_CONFIGURATION_SUPPORTED
                                                           : planted;
  };
  block.isSupported = level(fake.support.isSupported);
  block.architecture = level(fake.support.architecture);
  block.sli = level(fake.support.sli);
  block.vGpu = level(fake.support.vGpu);
  block.confidentialCompute = level(fake.support.confidentialCompute);
  block.cmp = level(fake.support.cmp);
  block.wsl = level(fake.support.wsl);
  return is_initialized && block.api == CUPTI_PROFILER_RANGE_PROFILING
             ? CUPTI_SUCCESS
             : CUPTI_ERROR_INVALID_OPERATION;
}
PLAYED(cuptiDeviceGetChipName, CUpti_Device_GetChipName_Params) {
  block.pChipName = fake.chip;
  return block.deviceIndex == 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_DEVICE;
}
PLAYED(cuptiProfilerGetCounterAvailability, CUpti_Profiler_GetCounterAvailability_Params) {
  if (!is_initialized || block.ctx == nullptr) {
    return CUPTI_ERROR_INVALID_CONTEXT;
  }
  if (block.pCounterAvailabilityImage != nullptr) {
    std::memset(block.pCounterAvailabilityImage, 1, kAvailabilityBytes);
  }
  block.counterAvailabilityImageSize = kAvailabilityBytes;
  return CUPTI_SUCCESS;
}

PLAYED(cuptiProfilerHostInitialize, CUpti_Profiler_Host_Initialize_Params) {
  if (block.profilerType != CUPTI_PROFILER_TYPE_RANGE_PROFILER ||
      std::string(block.pChipName) != fake.chip || block.pCounterAvailabilityImage == nullptr ||
      block.pCounterAvailabilityImage[kAvailabilityBytes - 1] != 1) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  block.pHostObject = new CUpti_Profiler_Host_Object{};
  ++fake.open;
  return CUPTI_SUCCESS;
}
PLAYED(cuptiProfilerHostDeinitialize, CUpti_Profiler_Host_Deinitialize_Params) {
  delete block.pHostObject;
  --fake.open;
  return CUPTI_SUCCESS;
}
PLAYED(cuptiProfilerHostGetBaseMetrics, CUpti_Profiler_Host_GetBaseMetrics_Params) {
  static const char* counters[] = {"dram__bytes", "sm__warps_launched"};
  static const char* others[] = {"dram__throughput"};
  const bool is_counter = block.metricType == CUPTI_METRIC_TYPE_COUNTER;
  const bool is_ratio = block.metricType == CUPTI_METRIC_TYPE_RATIO;
  block.ppMetricNames = is_counter ? counters : others;
  block.numMetrics = is_counter ? 2 : is_ratio ? 0 : 1;
  return CUPTI_SUCCESS;
}
PLAYED(cuptiProfilerHostConfigAddMetrics, CUpti_Profiler_Host_ConfigAddMetrics_Params) {
  bool is_apart = false;
  for (std::size_t i = 0; i < block.numMetrics; ++i) {
    if (!fake.metrics.contains(block.ppMetricNames[i])) {
      return CUPTI_ERROR_INVALID_METRIC_NAME;
    }
    is_apart = is_apart || fake.apart.contains(block.ppMetricNames[i]);
    block.pHostObject->metrics.emplace_back(block.ppMetricNames[i]);
  }
  return is_apart && block.numMetrics > 1 ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}
PLAYED(cuptiProfilerHostGetConfigImageSize, CUpti_Profiler_Host_GetConfigImageSize_Params) {
  block.configImageSize = kImageBytes;
  return CUPTI_SUCCESS;
}
PLAYED(cuptiProfilerHostGetConfigImage, CUpti_Profiler_Host_GetConfigImage_Params) {
  const std::size_t number = configurations.size();
  configurations.push_back(block.pHostObject->metrics);
  std::memcpy(block.pConfigImage, &number, kImageBytes);
  return CUPTI_SUCCESS;
}
PLAYED(cuptiProfilerHostGetNumOfPasses, CUpti_Profiler_Host_GetNumOfPasses_Params) {
  block.numOfPasses = passes_of({.configuration = number_in(block.pConfigImage)});
  return CUPTI_SUCCESS;
}
PLAYED(cuptiProfilerHostEvaluateToGpuValues, CUpti_Profiler_Host_EvaluateToGpuValues_Params) {
  const Ranges& ranges = images[number_in(block.pCounterDataImage)];
  if (!block.pHostObject->metrics.empty() || block.rangeIndex >= ranges.names.size()) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const std::vector<std::string>& counted = configurations[ranges.configuration];
  for (std::size_t i = 0; i < block.numMetrics; ++i) {
    const bool is_there = ranges.is_decoded && counted[i] == block.ppMetricNames[i];
    block.pMetricValues[i] = is_there ? fake.metrics.at(block.ppMetricNames[i]) *
                                            (std::stod(ranges.names[block.rangeIndex]) + 1)
                                      : std::numeric_limits<double>::quiet_NaN();
  }
  return CUPTI_SUCCESS;
}

PLAYED(cuptiRangeProfilerEnable, CUpti_RangeProfiler_Enable_Params) {
  block.pRangeProfilerObject = new CUpti_RangeProfiler_Object;
  ++fake.open;
  return is_initialized && block.ctx != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}
PLAYED(cuptiRangeProfilerDisable, CUpti_RangeProfiler_Disable_Params) {
  delete block.pRangeProfilerObject;
  --fake.open;
  return CUPTI_SUCCESS;
}
PLAYED(cuptiRangeProfilerGetCounterDataSize, CUpti_RangeProfiler_GetCounterDataSize_Params) {
  block.counterDataSize = kImageBytes * (1 + block.maxNumOfRanges);
  return block.maxNumRangeTreeNodes >= block.maxNumOfRanges && block.numMetrics > 0
             ? CUPTI_SUCCESS
             : CUPTI_ERROR_INVALID_PARAMETER;
}
PLAYED(cuptiRangeProfilerCounterDataImageInitialize,
       CUpti_RangeProfiler_CounterDataImage_Initialize_Params) {
  const std::size_t number = images.size();
  images.emplace_back();
  std::memcpy(block.pCounterData, &number, kImageBytes);
  return CUPTI_SUCCESS;
}
PLAYED(cuptiRangeProfilerSetConfig, CUpti_RangeProfiler_SetConfig_Params) {
  if (block.range != CUPTI_UserRange || block.replayMode != CUPTI_UserReplay ||
      block.numNestingLevels != 1 || block.minNestingLevel != 1 || block.passIndex != 0 ||
      block.targetNestingLevel != 1 || block.configSize != kImageBytes ||
      block.counterDataImageSize != kImageBytes * (1 + block.maxRangesPerPass)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  block.pRangeProfilerObject->image = block.pCounterDataImage;
  images[number_in(block.pCounterDataImage)].configuration = number_in(block.pConfig);
  return CUPTI_SUCCESS;
}
PLAYED(cuptiRangeProfilerStart, CUpti_RangeProfiler_Start_Params) {
  CUpti_RangeProfiler_Object& object = *block.pRangeProfilerObject;
  if (object.image == nullptr || object.is_started) {
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  object.is_started = true;
  object.range = 0;
  return CUPTI_SUCCESS;
}
PLAYED(cuptiRangeProfilerPushRange, CUpti_RangeProfiler_PushRange_Params) {
  CUpti_RangeProfiler_Object& object = *block.pRangeProfilerObject;
  if (!object.is_started || object.is_in_range) {
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  object.is_in_range = true;
  Ranges& ranges = images[number_in(object.image)];
  if (ranges.passes == 0 && ranges.names.size() < fake.kept_ranges) {
    ranges.names.emplace_back(block.pRangeName);
  } else if (object.range < ranges.names.size() && ranges.names[object.range] != block.pRangeName) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  ++object.range;
  return CUPTI_SUCCESS;
}
PLAYED(cuptiRangeProfilerPopRange, CUpti_RangeProfiler_PopRange_Params) {
  const bool was_in_range = block.pRangeProfilerObject->is_in_range;
  block.pRangeProfilerObject->is_in_range = false;
  return was_in_range ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}
PLAYED(cuptiRangeProfilerStop, CUpti_RangeProfiler_Stop_Params) {
  CUpti_RangeProfiler_Object& object = *block.pRangeProfilerObject;
  if (!object.is_started || object.is_in_range) {
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  object.is_started = false;
  Ranges& ranges = images[number_in(object.image)];
  block.isAllPassSubmitted = ++ranges.passes >= passes_of(ranges) + fake.hidden_passes ? 1 : 0;
  return CUPTI_SUCCESS;
}
PLAYED(cuptiRangeProfilerDecodeData, CUpti_RangeProfiler_DecodeData_Params) {
  images[number_in(block.pRangeProfilerObject->image)].is_decoded = true;
  return CUPTI_SUCCESS;
}
PLAYED(cuptiRangeProfilerGetCounterDataInfo, CUpti_RangeProfiler_GetCounterDataInfo_Params) {
  block.numTotalRanges = images[number_in(block.pCounterDataImage)].names.size();
  return CUPTI_SUCCESS;
}
PLAYED(cuptiRangeProfilerCounterDataGetRangeInfo,
       CUpti_RangeProfiler_CounterData_GetRangeInfo_Params) {
  block.rangeName = images[number_in(block.pCounterDataImage)].names[block.rangeIndex].c_str();
  return CUPTI_SUCCESS;
}
