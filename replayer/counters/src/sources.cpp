#include "et_schema/base/error.h"
#include "replayer/counters/source.h"
#ifdef UNDERSTUDY_CUPTI
#include "cupti.h"
#endif

namespace understudy::replayer {
namespace {

OpenedSource cupti_source(c10::Device device) {
  OpenedSource opened{"cupti", nullptr, ""};
  if (!device.is_cuda()) {
    opened.why_not = "no GPU: the replay runs on " + device.str();
    return opened;
  }
#ifdef UNDERSTUDY_CUPTI
  try {
    opened.source = open_cupti(device);
  } catch (const et_schema::Error& error) {
    opened.why_not = error.summary();
  }
#else
  opened.why_not = "built without CUPTI: build beside torch's wheel for CUDA or a CUDA toolkit";
#endif
  return opened;
}

}  // namespace

std::vector<OpenedSource> open_counter_sources(c10::Device device) {
  std::vector<OpenedSource> sources;
  sources.push_back(cupti_source(device));
  return sources;
}

}  // namespace understudy::replayer
