#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// Returns the bytes of memory that a storage occupies: 0 on device "meta", whose tensors have no
/// data.
[[nodiscard]] std::uint64_t memory_bytes(const Storage& storage);

/// The slots that one step of a program uses. A step is an instruction, or its replacement.
struct SlotUse {
  std::vector<SlotId> reads;   ///< including in-place results
  std::vector<SlotId> makes;   ///< slots that receive a new tensor
  std::vector<SlotId> unkept;  ///< results that are made but not stored (pinned)
};

/// The slots that die with a step.
struct StepDeaths {
  std::vector<SlotId> unread;      ///< made by this step and never read
  std::vector<SlotId> last_reads;  ///< read by this step and never later
  std::vector<SlotId> let_go;      ///< released here: their storage was held beyond its last reader
};

/// When slots die, by step.
struct Lifetimes {
  std::vector<StepDeaths> deaths;
  std::vector<SlotId> outlive;  ///< held into the next pass over the steps and released there
};

/// Which steps run for a program's instructions, and which slots are read after the last step.
struct LifetimeScope {
  /// By instruction: the first step that runs for it or for a later one. Empty: the steps are not a
  /// whole program, and no storage is held beyond its last reader.
  std::vector<std::size_t> begins = {};
  /// By slot: true if it is read after the last step. Empty: none is.
  std::vector<bool> needed = {};
};

/// Returns the lifetimes of slots. A slot dies at its last reader, or later if the storage was held
/// (Storage::held_until). External slots never die.
[[nodiscard]] Lifetimes lifetimes_of(const Program& program, const std::vector<SlotUse>& uses,
                                     const LifetimeScope& scope);

/// Tracks the storages that slots keep alive. External storages are left out, since they always
/// live.
class LiveStorages {
 public:
  /// `held`: slots that are alive before the first step (Lifetimes::outlive).
  LiveStorages(const Program& program, const std::vector<SlotId>& held);

  /// Returns the total size of the live storages.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] bool is_alive(StorageId storage) const { return holders_[storage] > 0; }

  /// Begins a step: adds the slots that it makes.
  void begin(const SlotUse& use);
  /// Ends a step: removes the slots that died.
  void end(const SlotUse& use, const StepDeaths& deaths);

 private:
  void hold(SlotId slot);
  void release(SlotId slot);
  [[nodiscard]] std::uint64_t size(SlotId slot) const;

  const Program& program_;
  std::vector<std::uint32_t> holders_;  ///< by storage
  std::vector<bool> held_;              ///< by slot
  std::uint64_t bytes_ = 0;
};

/// Returns the bytes of intermediates that are alive during each step, including those held from
/// the preceding pass.
[[nodiscard]] std::vector<std::uint64_t> live_bytes(const Program& program,
                                                    const std::vector<SlotUse>& uses,
                                                    const Lifetimes& lifetimes);

/// Returns the slots that each instruction uses if it runs as recorded.
[[nodiscard]] std::vector<SlotUse> uses_of(const Program& program);
/// Returns the lifetimes of slots for uses_of(program).
[[nodiscard]] Lifetimes lifetimes_of(const Program& program, const std::vector<SlotUse>& uses);

}  // namespace understudy::et_schema
