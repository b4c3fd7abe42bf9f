#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "et_schema/model/lifetimes.h"
#include "et_schema/model/program.h"
#include "replayer/bind/bound.h"

namespace understudy::replayer {

/// The steps of a bound program in order, and the slots that hold a tensor after them.
class StepList {
 public:
  /// `available`: slots that hold a tensor before the first step, besides the externals. Steps are
  /// added to `bound`, which must outlive this object.
  StepList(const et_schema::Program& program, std::vector<bool> available, BoundProgram& bound);

  void add(Step step, et_schema::SlotUse use);
  /// Makes `to` a view with its own layout on the storage of `from`. `instruction` may be null, as
  /// in add_give().
  void add_alias(const et_schema::Instruction* instruction, et_schema::SlotId from,
                 et_schema::SlotId to);
  /// Sets the slot to a tensor made before the run.
  void add_give(const et_schema::Instruction* instruction, et_schema::SlotId slot);
  /// `at`: the time of the recorded wait.
  void add_joins(const std::vector<std::uint32_t>& comms, JoinedBy joined_by,
                 const std::optional<et_schema::Timing>& at = {});
  /// Makes slots that are read although no instruction has made them: their maker was filtered out,
  /// or they are views in a body recorded without the maker.
  void add_missing(const std::vector<et_schema::SlotId>& slots);

  [[nodiscard]] bool is_available(et_schema::SlotId slot) const { return available_[slot]; }
  /// Returns true if the slot has memory that a view can share. Sparse and empty tensors do not.
  [[nodiscard]] bool has_memory(et_schema::SlotId slot) const;

  /// Returns the uses by step.
  [[nodiscard]] const std::vector<et_schema::SlotUse>& uses() const { return uses_; }
  /// Returns the externals that a step reads.
  [[nodiscard]] const std::set<et_schema::SlotId>& externals() const { return externals_; }
  [[nodiscard]] const std::set<et_schema::SlotId>& given() const { return given_; }

 private:
  const et_schema::Program& program_;
  BoundProgram& bound_;
  std::vector<bool> available_;                           ///< by slot
  std::vector<std::optional<et_schema::SlotId>> holder_;  ///< by storage: its latest slot
  std::vector<et_schema::SlotUse> uses_;
  std::set<et_schema::SlotId> externals_;
  std::set<et_schema::SlotId> given_;
};

}  // namespace understudy::replayer
