#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::emitter {

/// Kind of an instruction's result.
enum class ResultKind : std::uint8_t {
  kNone,     ///< undefined, or not a tensor
  kInPlace,  ///< a tensor that existed before the instruction
  kGiven,    ///< replaced by a tensor that is made before the step
  kNew       ///< a new tensor
};

/// Records which instruction makes, reads and frees each tensor of a program in its recorded order.
class DataFlow {
 public:
  /// `replaced`: by instruction, true if its results are made before the step. Results of pinned
  /// instructions always are. If empty, no other instruction is replaced.
  explicit DataFlow(const et_schema::Program& program, std::vector<bool> replaced = {});

  [[nodiscard]] const et_schema::Program& program() const { return program_; }
  /// Returns the slots that an instruction reads, in the order of its arguments, with repetitions.
  [[nodiscard]] const std::vector<et_schema::SlotId>& reads(std::size_t at) const {
    return reads_[at];
  }
  /// Returns true for a slot that is made before the step although it is not an external: it is
  /// read before any instruction makes it, or its maker's results are replaced.
  [[nodiscard]] bool is_given(et_schema::SlotId slot) const { return given_[slot]; }
  /// Returns true if the results of an instruction are made before the step.
  [[nodiscard]] bool is_replaced(std::size_t at) const;
  [[nodiscard]] ResultKind kind_of(std::size_t at, const et_schema::Argument& result) const;
  /// Returns true if the instruction only returns an existing tensor, or a new view that no later
  /// instruction reads and that keeps no storage alive.
  [[nodiscard]] bool is_unread_view(std::size_t at) const;
  /// Returns the instruction after which a storage is no longer needed. Empty if it existed before
  /// the step or is freed in the next step.
  [[nodiscard]] std::optional<std::size_t> death_of(et_schema::StorageId storage) const {
    return deaths_[storage];
  }
  /// Returns the instruction of the next step after which a storage that outlives its step is
  /// freed. Empty for other storages.
  [[nodiscard]] std::optional<std::size_t> late_death_of(et_schema::StorageId storage) const {
    return late_deaths_[storage];
  }
  /// Returns true if this slot keeps its storage alive after its last reader.
  [[nodiscard]] bool is_holder(et_schema::SlotId slot) const { return holder_[slot]; }

 private:
  struct Event {
    std::size_t at = 0;
    bool makes = false;
  };
  void read_program();
  void find_deaths();
  /// Returns true if the first use of the slot at or after instruction `end` reads its tensor,
  /// instead of making a new one.
  [[nodiscard]] bool is_read_after(et_schema::SlotId slot, std::size_t end) const;

  const et_schema::Program& program_;
  std::vector<bool> replaced_;
  std::vector<std::vector<et_schema::SlotId>> reads_;
  std::vector<std::vector<Event>> events_;  ///< by slot, in order
  std::vector<bool> given_;
  std::vector<bool> holder_;
  std::vector<std::optional<std::size_t>> deaths_;       ///< by storage
  std::vector<std::optional<std::size_t>> late_deaths_;  ///< by storage
};

/// Lists with at least this many tensors become a vector of their own.
inline constexpr std::size_t kShortestVector = 4;
/// Returns the distinct slots of a list of at least kShortestVector tensors; empty for others.
[[nodiscard]] std::vector<et_schema::SlotId> long_list(const et_schema::Argument& argument);
/// Returns the long lists of a program, with the number of arguments that each one is.
[[nodiscard]] std::map<std::vector<et_schema::SlotId>, int> count_lists(
    const et_schema::Program& program);

/// The parts of a training step, found by the instructions' names and by what they write.
struct Phases {
  std::size_t backward = 0;  ///< the first instruction of the backward pass
  std::size_t update = 0;    ///< the first instruction of the optimizer's update
};

/// Finds the phases. The backward pass begins at the first backward operator, or at the seed of its
/// gradient. The update begins at the first instruction after the last backward operator that
/// changes a tensor from before the step. A missing phase begins at the program's end.
[[nodiscard]] Phases find_phases(const et_schema::Program& program);

/// Returns "forward", "backward" or "update".
[[nodiscard]] std::string_view phase_name(const Phases& phases, std::size_t instruction);

}  // namespace understudy::emitter
