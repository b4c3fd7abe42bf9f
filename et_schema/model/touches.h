#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// The storages that an instruction reads and writes, possibly with duplicates.
struct Touched {
  std::vector<StorageId> reads;
  std::vector<StorageId> writes;
  bool is_view = false;  ///< results are views of arguments; the content is not read
};
/// Decides by the schema; an instruction without one may write all its arguments. A communication
/// reads its inputs and writes its outputs.
[[nodiscard]] Touched touched_by(const Program& program, const Instruction& instruction);

/// Returns the recorded streams of operators by descending number of instructions, then by number.
[[nodiscard]] std::vector<std::int64_t> operator_streams(const Program& program);

/// The last noted step of each lane; a lane is a stream or a timeline.
class LastOfLanes {
 public:
  struct Last {
    std::uint32_t lane;
    std::uint32_t step;
  };
  void note(std::uint32_t lane, std::uint32_t step);
  void note_others(const LastOfLanes& others, std::uint32_t own);
  /// Returns the steps, ordered by lane.
  [[nodiscard]] std::vector<Last> sorted() &&;

 private:
  std::vector<Last> lasts_;
};

/// The last steps (or instructions) that touched each storage, by lane.
class LastTouches {
 public:
  explicit LastTouches(std::size_t storages) : reads_(storages), writes_(storages) {}

  /// Returns, for each other lane, the last step that must precede step `at` of `lane`. Then
  /// records `at` as the last one.
  [[nodiscard]] std::vector<LastOfLanes::Last> enter(std::uint32_t at, std::uint32_t lane,
                                                     const Touched& touched);

 private:
  std::vector<LastOfLanes> reads_;
  std::vector<LastOfLanes> writes_;
};

}  // namespace understudy::et_schema
