#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "replayer/device/stream_span.h"

namespace understudy::replayer {

/// GPU streams, by number, on which spans run beside the current stream.
class SpanLanes {
 public:
  /// `device` must support spans: see StreamSpan::make().
  explicit SpanLanes(c10::Device device) : device_(device) {}

  /// Issues `work` as a span of the lane, after the work that the current stream holds. Calling the
  /// returned function makes the stream that is then current wait for the span's end.
  [[nodiscard]] std::function<void()> run(std::uint32_t lane, std::int64_t duration_ns,
                                          const std::function<void()>& work);

 private:
  struct Lane {
    c10::Stream stream;
    std::unique_ptr<StreamSpan> span;
  };
  [[nodiscard]] const Lane& lane_of(std::uint32_t lane);

  c10::Device device_;
  std::map<std::uint32_t, Lane> lanes_;
};

}  // namespace understudy::replayer
