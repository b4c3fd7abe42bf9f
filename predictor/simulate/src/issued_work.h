#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "plan.h"

namespace understudy::predictor {

/// The recorded device work of a program as its streams' items.
class IssuedWork {
 public:
  IssuedWork(const Program& program, std::size_t streams);

  /// Positions in Program::device_work, in order of launches.
  [[nodiscard]] const std::vector<std::uint32_t>& of_instruction(std::uint32_t at) const {
    return of_instruction_[at];
  }
  /// The next item of the stream is this work; kNoIndex: none that was recorded.
  void issue(std::uint32_t stream, std::uint32_t work);
  /// As many of the items as the recording shows to have ended by then.
  [[nodiscard]] StreamDep ended_by(StreamDep dep, std::int64_t time_ns) const;
  /// Work that was launched late began so long after its launch; other work so long after what it
  /// waited for: its recorded stream, `stream` on which it is played, and `after`. What the
  /// recording does not show of it is typical.
  [[nodiscard]] RecordedTurn turn_of(std::uint32_t work, std::uint32_t stream,
                                     std::span<const StreamDep> after) const;

 private:
  void find_typical_turn();

  const Program& program_;
  std::vector<std::vector<std::uint32_t>> of_instruction_;
  std::vector<std::vector<std::uint32_t>> items_;  ///< by stream
  /// By stream and by recorded stream that is played on it: the end of the latest one.
  std::vector<std::map<std::int64_t, std::int64_t>> ends_ns_;
  RecordedTurn typical_;
};

}  // namespace understudy::predictor
