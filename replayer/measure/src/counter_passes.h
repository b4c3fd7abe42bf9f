#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <string>

#include "et_schema/base/error.h"
#include "replayer/bind/bound.h"
#include "replayer/counters/source.h"
#include "replayer/device/device.h"
#include "replayer/run/run.h"

namespace understudy::replayer {

/// Calls `use` with the source, if it is there. A source that fails is closed, and the work goes on
/// without it.
template <typename Use>
void use_source(OpenedSource& opened, const Use& use) {
  try {
    if (opened.source != nullptr) {
      use(*opened.source);
    }
  } catch (const et_schema::Error& error) {
    opened.close(error);
  }
}

/// Counts each step that does work in a range of its own, numbered from 0. The device's work ends
/// within its range, except for messages: they end when the other rank has reached them.
class CountHook : public NoHook {
 public:
  CountHook(OpenedSource& opened, c10::Device device) : opened_(opened), device_(device) {}

  void built(const Step& step) {
    if (step.does_work()) {
      synchronize_stream(device_);
      use_source(opened_, [this](CounterSource& source) { source.begin_range(range_); });
    }
  }
  void called(const Step& step, const torch::jit::Stack&) {
    if (step.does_work()) {
      synchronize_stream(device_);
      use_source(opened_, [](CounterSource& source) { source.end_range(); });
      ++range_;
    }
  }

 private:
  OpenedSource& opened_;
  c10::Device device_;
  std::size_t range_ = 0;
};

}  // namespace understudy::replayer
