#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "plan.h"

namespace understudy::predictor {

/// A program's recorded device work, as items of its streams.
class IssuedWork {
 public:
  IssuedWork(const Program& program, std::size_t streams);

  /// Returns indices in Program::device_work, ordered by launch.
  [[nodiscard]] const std::vector<std::uint32_t>& of_instruction(std::uint32_t at) const {
    return of_instruction_[at];
  }
  /// Adds the next items of the stream: these works, or none if they were not recorded. The work
  /// that ended last stands for them.
  void issue(std::uint32_t stream, std::span<const std::uint32_t> works, std::uint32_t items);
  /// Returns the work that began first.
  [[nodiscard]] std::uint32_t first_of(std::span<const std::uint32_t> works) const;
  /// Returns the dependency reduced to the items that had ended by `time_ns` in the recording.
  [[nodiscard]] StreamDep ended_by(StreamDep dep, std::int64_t time_ns) const;
  /// Returns when recorded work begins: relative to its launch if it was launched late, otherwise
  /// relative to the end of what it waited for (its recorded stream, `stream` on which it is
  /// simulated, and `after`). Unknown values are typical ones.
  [[nodiscard]] RecordedTurn turn_of(std::uint32_t work, std::uint32_t stream,
                                     std::span<const StreamDep> after) const;

 private:
  void find_typical_turn();

  const Program& program_;
  std::vector<std::vector<std::uint32_t>> of_instruction_;
  std::vector<std::vector<std::uint32_t>> items_;  ///< by stream
  /// By stream and by the recorded stream that is simulated on it: its latest end.
  std::vector<std::map<std::int64_t, std::int64_t>> ends_ns_;
  RecordedTurn typical_;
};

}  // namespace understudy::predictor
