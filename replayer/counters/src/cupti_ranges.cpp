#include "cupti_ranges.h"

#include <charconv>
#include <cstring>
#include <string>

namespace understudy::replayer {

CuptiRanges::CuptiRanges(const CuptiLibrary& library, CUcontext context,
                         const CuptiConfiguration& configuration, std::size_t ranges)
    : library_(library), configuration_(configuration) {
  auto enabled = CUPTI_BLOCK(CUpti_RangeProfiler_Enable_Params);
  enabled.ctx = context;
  object_ = library_.call("cuptiRangeProfilerEnable", enabled).pRangeProfilerObject;

  std::vector<const char*> names = cupti_names(configuration_.metrics);
  auto sized = CUPTI_BLOCK(CUpti_RangeProfiler_GetCounterDataSize_Params);
  sized.pMetricNames = names.data();
  sized.numMetrics = names.size();
  sized.maxNumOfRanges = ranges;
  sized.maxNumRangeTreeNodes = static_cast<std::uint32_t>(ranges);
  data_.resize(run("cuptiRangeProfilerGetCounterDataSize", sized).counterDataSize);
  auto cleared = CUPTI_BLOCK(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
  cleared.counterDataSize = data_.size();
  cleared.pCounterData = data_.data();
  run("cuptiRangeProfilerCounterDataImageInitialize", cleared);

  auto set = CUPTI_BLOCK(CUpti_RangeProfiler_SetConfig_Params);
  set.configSize = configuration_.image.size();
  set.pConfig = configuration_.image.data();
  set.counterDataImageSize = data_.size();
  set.pCounterDataImage = data_.data();
  set.range = CUPTI_UserRange;
  set.replayMode = CUPTI_UserReplay;
  set.maxRangesPerPass = ranges;
  set.numNestingLevels = 1;
  set.minNestingLevel = 1;
  set.targetNestingLevel = 1;
  run("cuptiRangeProfilerSetConfig", set);
}

CuptiRanges::~CuptiRanges() {
  auto disabled = CUPTI_BLOCK(CUpti_RangeProfiler_Disable_Params);
  disabled.pRangeProfilerObject = object_;
  static_cast<void>(library_.status_of("cuptiRangeProfilerDisable", disabled));
}

void CuptiRanges::begin_pass() {
  run("cuptiRangeProfilerStart", CUPTI_BLOCK(CUpti_RangeProfiler_Start_Params));
}

void CuptiRanges::begin_range(std::size_t range) {
  const std::string name = std::to_string(range);
  auto pushed = CUPTI_BLOCK(CUpti_RangeProfiler_PushRange_Params);
  pushed.pRangeName = name.c_str();
  run("cuptiRangeProfilerPushRange", pushed);
}

void CuptiRanges::end_range() {
  run("cuptiRangeProfilerPopRange", CUPTI_BLOCK(CUpti_RangeProfiler_PopRange_Params));
}

bool CuptiRanges::end_pass() {
  const auto stopped = CUPTI_BLOCK(CUpti_RangeProfiler_Stop_Params);
  return run("cuptiRangeProfilerStop", stopped).isAllPassSubmitted != 0;
}

void CuptiRanges::read(const CuptiHost& host, std::vector<et_schema::Counters>& of_ranges) {
  run("cuptiRangeProfilerDecodeData", CUPTI_BLOCK(CUpti_RangeProfiler_DecodeData_Params));
  auto held = CUPTI_BLOCK(CUpti_RangeProfiler_GetCounterDataInfo_Params);
  held.pCounterDataImage = data_.data();
  held.counterDataImageSize = data_.size();
  held = library_.call("cuptiRangeProfilerGetCounterDataInfo", held);
  for (std::size_t i = 0; i < held.numTotalRanges; ++i) {
    auto named = CUPTI_BLOCK(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
    named.pCounterDataImage = data_.data();
    named.counterDataImageSize = data_.size();
    named.rangeIndex = i;
    named.rangeDelimiter = "/";
    const char* const name =
        library_.call("cuptiRangeProfilerCounterDataGetRangeInfo", named).rangeName;
    std::size_t range = of_ranges.size();
    std::from_chars(name, name + std::strlen(name), range);
    if (range < of_ranges.size()) {
      of_ranges[range].merge(host.values(configuration_.metrics, data_, i));
    }
  }
}

}  // namespace understudy::replayer
