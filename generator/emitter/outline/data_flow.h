#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::emitter {

/// Where an instruction's result goes.
enum class ResultKind : std::uint8_t {
  kNone,     ///< undefined, or no tensor
  kInPlace,  ///< it is a tensor that was there before
  kGiven,    ///< a tensor that was made before the step takes its place
  kNew       ///< a new tensor
};

/// Who makes, reads and frees which tensors of a program, if each instruction runs as recorded.
class DataFlow {
 public:
  /// `replaced`, by instruction: its results are made before the step, as those of pinned ones
  /// are. Empty: of none.
  explicit DataFlow(const et_schema::Program& program, std::vector<bool> replaced = {});

  [[nodiscard]] const et_schema::Program& program() const { return program_; }
  /// Slots among an instruction's arguments, in order, each as often as it stands there.
  [[nodiscard]] const std::vector<et_schema::SlotId>& reads(std::size_t at) const {
    return reads_[at];
  }
  /// Made before the step although it is not an external: nothing makes it before it is read, or
  /// its maker's results are replaced.
  [[nodiscard]] bool is_given(et_schema::SlotId slot) const { return given_[slot]; }
  /// Whether results of an instruction are made before the step.
  [[nodiscard]] bool is_replaced(std::size_t at) const;
  [[nodiscard]] ResultKind kind_of(std::size_t at, const et_schema::Argument& result) const;
  /// Whether a slot's tensor of instruction `at` is read after `end`, before another replaces it.
  [[nodiscard]] bool is_read_after(et_schema::SlotId slot, std::size_t end) const;
  /// Whether all that it does is to make a view, or to hand on a tensor, that nothing reads.
  [[nodiscard]] bool is_unread_view(std::size_t at) const;
  /// The instruction after which nothing needs a storage any more. None: it is from before the
  /// step, or is freed in the next one.
  [[nodiscard]] std::optional<std::size_t> death_of(et_schema::StorageId storage) const {
    return deaths_[storage];
  }
  /// The instruction of the next step after which a storage is freed that outlives its own step.
  [[nodiscard]] std::optional<std::size_t> late_death_of(et_schema::StorageId storage) const {
    return late_deaths_[storage];
  }
  /// Whether this slot keeps its storage alive after its last reader.
  [[nodiscard]] bool is_holder(et_schema::SlotId slot) const { return holder_[slot]; }
  /// Intermediates that exist before an instruction and are needed from it on.
  [[nodiscard]] std::size_t crossing(std::size_t at) const { return crossing_[at]; }

 private:
  struct Event {
    std::size_t at = 0;
    bool makes = false;
  };
  void read_program();
  void find_deaths();
  void count_crossings();

  const et_schema::Program& program_;
  std::vector<bool> replaced_;
  std::vector<std::vector<et_schema::SlotId>> reads_;
  std::vector<std::vector<Event>> events_;  ///< by slot, in order
  std::vector<bool> given_;
  std::vector<bool> holder_;
  std::vector<std::optional<std::size_t>> deaths_;       ///< by storage
  std::vector<std::optional<std::size_t>> late_deaths_;  ///< by storage
  std::vector<std::size_t> crossing_;
};

/// A vector of tensors pays from so many on.
inline constexpr std::size_t kShortestVector = 4;
/// The slots of an argument that is a list of so many tensors, each once; of others none.
[[nodiscard]] std::vector<et_schema::SlotId> long_list(const et_schema::Argument& argument);
/// Such lists of a program, by how many arguments they are.
[[nodiscard]] std::map<std::vector<et_schema::SlotId>, int> count_lists(
    const et_schema::Program& program);

/// The parts of a training step, by the instructions' names and what they write.
struct Phases {
  std::size_t backward = 0;  ///< the first instruction of the backward pass
  std::size_t update = 0;    ///< and of the optimizer's
};

/// The backward pass begins at the first backward operator (or at the seed of its gradient). The
/// update begins at the first instruction after the last backward operator that changes a tensor
/// from before the step. A program without one of them has it at its end.
[[nodiscard]] Phases find_phases(const et_schema::Program& program);

/// "forward", "backward" or "update".
[[nodiscard]] std::string_view phase_name(const Phases& phases, std::size_t instruction);

}  // namespace understudy::emitter
