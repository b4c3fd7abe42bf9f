#include "et_schema/base/error.h"
#include "gpm.h"
#include "replayer/counters/perf.h"
#include "replayer/counters/source.h"
#include "replayer/device/device.h"
#ifdef UNDERSTUDY_CUPTI
#include "cupti.h"
#endif

namespace understudy::replayer {
namespace {

/// Opens a source with `make`; its error becomes the line why it is not there.
template <typename Make>
OpenedSource open_source(std::string name, Make&& make) {
  OpenedSource opened{std::move(name), nullptr, ""};
  try {
    opened.source = make();
  } catch (const et_schema::Error& error) {
    opened.close(error);
  }
  return opened;
}

std::unique_ptr<CounterSource> cupti_source([[maybe_unused]] c10::Device device) {
#ifdef UNDERSTUDY_CUPTI
  return open_cupti(device);
#else
  throw et_schema::run_failed(
      "built without CUPTI: build beside torch's wheel for CUDA or a CUDA toolkit", {});
#endif
}

std::string no_gpu(c10::Device device) {
  return "no GPU: the replay runs on " + device.str();
}

}  // namespace

void OpenedSource::close(const et_schema::Error& error) {
  source.reset();
  const std::string& got = error.context().got;
  why_not = error.summary() + (got.empty() ? "" : ": " + got);
}

std::vector<OpenedSource> open_counter_sources(c10::Device device) {
  std::vector<OpenedSource> sources;
  auto perf = std::make_unique<PerfSource>();
  std::string lacks = perf->state() == et_schema::kCounted ? "" : perf->state();
  sources.push_back({"perf", std::move(perf), std::move(lacks)});
  if (!device.is_cuda()) {
    sources.push_back({"cupti", nullptr, no_gpu(device)});
    sources.push_back({"gpm", nullptr, no_gpu(device)});
    return sources;
  }
  sources.push_back(open_source("cupti", [device] { return cupti_source(device); }));
  sources.push_back(open_source("gpm", [device] {
    return std::make_unique<GpmSource>(nvml_library(), device_pci_bus_id(device),
                                       device_uuid(device));
  }));
  return sources;
}

}  // namespace understudy::replayer
