#include "replayer/device/span_lanes.h"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <utility>

namespace understudy::replayer {

const SpanLanes::Lane& SpanLanes::lane_of(std::uint32_t lane) {
  const auto found = lanes_.find(lane);
  if (found != lanes_.end()) {
    return found->second;
  }
  const c10::impl::VirtualGuardImpl guard(device_.type());
  std::unique_ptr<StreamSpan> span = StreamSpan::make(device_);
  TORCH_CHECK(span != nullptr, "the device has no memory left for a span");
  return lanes_.emplace(lane, Lane{guard.getNewStream(device_), std::move(span)}).first->second;
}

std::function<void()> SpanLanes::run(std::uint32_t lane, std::int64_t duration_ns,
                                     const std::function<void()>& work) {
  const Lane& own = lane_of(lane);
  const c10::impl::VirtualGuardImpl guard(device_.type());
  c10::Event issued(device_.type());
  issued.record(guard.getStream(device_));
  issued.block(own.stream);
  const auto ended = std::make_shared<c10::Event>(device_.type());
  {
    const c10::StreamGuard on_lane(own.stream);
    own.span->begin();
    work();
    own.span->end(duration_ns);
    ended->record(own.stream);
  }
  return [ended, device = device_] {
    ended->block(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
  };
}

}  // namespace understudy::replayer
