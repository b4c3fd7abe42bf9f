#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// The storages that an instruction reads, and those that it writes; some may come twice.
struct Touched {
  std::vector<StorageId> reads;
  std::vector<StorageId> writes;
  bool is_view = false;  ///< it needs nothing of their content: its results are views of them
};
/// By its schema; what has none may write what it takes. A communication reads its inputs and
/// writes its outputs.
[[nodiscard]] Touched touched_by(const Program& program, const Instruction& instruction);

/// Recorded streams of operators by falling number of instructions, then by number.
[[nodiscard]] std::vector<std::int64_t> operator_streams(const Program& program);

/// The last of each lane, a stream or a timeline, that did something.
class LastOfLanes {
 public:
  struct Last {
    std::uint32_t lane;
    std::uint32_t step;
  };
  void note(std::uint32_t lane, std::uint32_t step);
  void note_others(const LastOfLanes& others, std::uint32_t own);
  /// In order of lanes.
  [[nodiscard]] std::vector<Last> sorted() &&;

 private:
  std::vector<Last> lasts_;
};

/// The last steps (or instructions) that touched each storage, by lane.
class LastTouches {
 public:
  explicit LastTouches(std::size_t storages) : reads_(storages), writes_(storages) {}

  /// By lane: the last step that `at`, in `lane`, has to come after; then `at` is the last itself.
  [[nodiscard]] std::vector<LastOfLanes::Last> enter(std::uint32_t at, std::uint32_t lane,
                                                     const Touched& touched);

 private:
  std::vector<LastOfLanes> reads_;
  std::vector<LastOfLanes> writes_;
};

}  // namespace understudy::et_schema
