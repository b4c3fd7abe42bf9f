#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// Bytes of memory that a storage takes: none on the device "meta", whose tensors have sizes alone.
[[nodiscard]] std::uint64_t memory_bytes(const Storage& storage);

/// What one step of a program does to slots. A step is an instruction, or whatever else runs in its
/// place.
struct SlotUse {
  std::vector<SlotId> reads;   ///< in-place results among them
  std::vector<SlotId> makes;   ///< slots that a new tensor is put into
  std::vector<SlotId> unkept;  ///< results that are made and not stored (pinned)
};

/// The slots that die with a step.
struct StepDeaths {
  std::vector<SlotId> unread;      ///< made by it, and read by nothing later
  std::vector<SlotId> last_reads;  ///< read by it and by nothing later
  std::vector<SlotId> let_go;      ///< of storages held beyond their last reader, until here
};

/// When slots die, by step.
struct Lifetimes {
  std::vector<StepDeaths> deaths;
  std::vector<SlotId> outlive;  ///< held into the next pass over the steps, and let go there
};

/// Where a program's instructions lie among the steps that run for them, and what is read later.
struct LifetimeScope {
  /// By instruction: the first step that runs for it or for one behind it. Empty: the steps are no
  /// whole program, and nothing is held beyond its last reader.
  std::vector<std::size_t> begins = {};
  /// By slot: read after the last step. Empty: none is.
  std::vector<bool> needed = {};
};

/// The lifetimes of slots: the last reader frees, unless the storage was held longer
/// (Storage::held_until). External slots never die.
[[nodiscard]] Lifetimes lifetimes_of(const Program& program, const std::vector<SlotUse>& uses,
                                     const LifetimeScope& scope);

/// Storages that some slot keeps alive, external ones left out: they live throughout.
class LiveStorages {
 public:
  /// `held`: slots that are alive before the first step: Lifetimes::outlive.
  LiveStorages(const Program& program, const std::vector<SlotId>& held);

  /// Sum of the sizes of what is alive.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] bool is_alive(StorageId storage) const { return holders_[storage] > 0; }

  /// A step begins: what it makes is there beside all that was alive.
  void begin(const SlotUse& use);
  /// And ends: what died is gone.
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

/// Bytes of intermediates that are alive while each step runs, what the pass before left included.
/// One entry a step.
[[nodiscard]] std::vector<std::uint64_t> live_bytes(const Program& program,
                                                    const std::vector<SlotUse>& uses,
                                                    const Lifetimes& lifetimes);

/// What the program's instructions do to slots if each runs as recorded.
[[nodiscard]] std::vector<SlotUse> uses_of(const Program& program);
/// And when slots die then.
[[nodiscard]] Lifetimes lifetimes_of(const Program& program, const std::vector<SlotUse>& uses);

}  // namespace understudy::et_schema
