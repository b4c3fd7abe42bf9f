#include "et_schema/model/lifetimes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "et_schema/base/assert.h"

namespace understudy::et_schema {
namespace {

/// Reads the uses of instructions in order, and tracks which slots exist.
class UseReader {
 public:
  explicit UseReader(const Program& program) : program_(program), exists_(program.slots.size()) {
    for (SlotId slot = 0; slot < exists_.size(); ++slot) {
      exists_[slot] = program.slots[slot].external;
    }
  }

  SlotUse next(const Instruction& instruction) {
    SlotUse use;
    // If nothing made a slot that is read, its maker was filtered out: the reader makes it. A
    // communication also makes those of its outputs that do not exist.
    for_each_slot(instruction.args, [&](SlotId slot) {
      (exists_[slot] ? use.reads : use.makes).push_back(slot);
      exists_[slot] = true;
    });
    for_each_slot(instruction.results, [&](SlotId slot) {
      const bool in_place =
          std::find(use.reads.begin(), use.reads.end(), slot) != use.reads.end() ||
          std::find(use.makes.begin(), use.makes.end(), slot) != use.makes.end();
      if (!in_place && !program_.slots[slot].external) {
        use.makes.push_back(slot);
        exists_[slot] = true;
      }
    });
    return use;
  }

 private:
  const Program& program_;
  std::vector<bool> exists_;
};

/// Moves the death of held storages to where the original released them. If a storage has several
/// slots, only the death of the last one is moved.
class Holds {
 public:
  Holds(const Program& program, const std::vector<SlotUse>& uses,
        const std::vector<std::size_t>& begins)
      : program_(program), uses_(uses), begins_(begins), made_at_(program.storages.size()) {
    for (std::size_t at = uses.size(); at-- > 0;) {
      for (const SlotId slot : uses[at].makes) {
        made_at_[program.slots[slot].storage] = at;
      }
    }
  }

  void apply(Lifetimes& lifetimes) {
    std::vector<bool> settled(program_.storages.size());
    std::vector<std::pair<std::size_t, SlotId>> moved;
    for (std::size_t at = uses_.size(); at-- > 0;) {
      StepDeaths& deaths = lifetimes.deaths[at];
      for (auto* dying : {&deaths.last_reads, &deaths.unread}) {
        std::erase_if(*dying, [&](SlotId slot) {
          const StorageId storage = program_.slots[slot].storage;
          const std::optional<std::size_t> until = settled[storage] ? std::nullopt : last(storage);
          settled[storage] = true;
          if (!until || (*until >= *made_at_[storage] && *until <= at)) {
            return false;
          }
          moved.emplace_back(*until, slot);
          return true;
        });
      }
    }
    // Slots released at one step are in the order of their last readers: an optimizer clears
    // gradients in the order in which it read them.
    for (auto hold = moved.rbegin(); hold != moved.rend(); ++hold) {
      const auto [until, slot] = *hold;
      lifetimes.deaths[until].let_go.push_back(slot);
      if (until < *made_at_[program_.slots[slot].storage]) {
        lifetimes.outlive.push_back(slot);
      }
    }
  }

 private:
  /// Returns the last step in which the original held the storage; empty if it was not held.
  [[nodiscard]] std::optional<std::size_t> last(StorageId storage) const {
    const Storage& memory = program_.storages[storage];
    if (!memory.held_until || memory.external || !made_at_[storage]) {
      return std::nullopt;
    }
    const std::size_t end =
        *memory.held_until < begins_.size() ? begins_[*memory.held_until] : uses_.size();
    // A storage released before the first step of the next pass is released with the last step of
    // this one.
    return end == 0 ? uses_.size() - 1 : end - 1;
  }

  const Program& program_;
  const std::vector<SlotUse>& uses_;
  const std::vector<std::size_t>& begins_;
  std::vector<std::optional<std::size_t>> made_at_;  ///< by storage: the first step that makes it
};

}  // namespace

Lifetimes lifetimes_of(const Program& program, const std::vector<SlotUse>& uses,
                       const LifetimeScope& scope) {
  std::vector<bool> live = scope.needed;
  live.resize(program.slots.size());
  Lifetimes lifetimes;
  lifetimes.deaths.resize(uses.size());
  for (std::size_t at = uses.size(); at-- > 0;) {
    StepDeaths& deaths = lifetimes.deaths[at];
    for (const SlotId slot : uses[at].makes) {
      if (!live[slot]) {
        deaths.unread.push_back(slot);
      }
      live[slot] = false;
    }
    for (const SlotId slot : uses[at].reads) {
      if (!live[slot] && !program.slots[slot].external) {
        live[slot] = true;
        deaths.last_reads.push_back(slot);
      }
    }
  }
  if (!scope.begins.empty()) {
    Holds(program, uses, scope.begins).apply(lifetimes);
  }
  return lifetimes;
}

Lifetimes lifetimes_of(const Program& program, const std::vector<SlotUse>& uses) {
  LifetimeScope scope;
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    scope.begins.push_back(i);
  }
  return lifetimes_of(program, uses, scope);
}

LiveStorages::LiveStorages(const Program& program, const std::vector<SlotId>& held)
    : program_(program), holders_(program.storages.size()), held_(program.slots.size()) {
  for (const SlotId slot : held) {
    hold(slot);
  }
}

void LiveStorages::hold(SlotId slot) {
  const Slot& layout = program_.slots[slot];
  if (held_[slot] || layout.external || program_.storages[layout.storage].external) {
    return;
  }
  held_[slot] = true;
  if (holders_[layout.storage]++ == 0) {
    bytes_ += size(slot);
  }
}

void LiveStorages::release(SlotId slot) {
  if (!held_[slot]) {
    return;
  }
  held_[slot] = false;
  if (--holders_[program_.slots[slot].storage] == 0) {
    bytes_ -= size(slot);
  }
}

void LiveStorages::begin(const SlotUse& use) {
  for (const SlotId slot : use.makes) {
    hold(slot);
  }
  for (const SlotId slot : use.unkept) {
    hold(slot);
  }
}

void LiveStorages::end(const SlotUse& use, const StepDeaths& deaths) {
  for (const auto* ends : {&use.unkept, &deaths.unread, &deaths.last_reads, &deaths.let_go}) {
    for (const SlotId slot : *ends) {
      release(slot);
    }
  }
}

std::uint64_t LiveStorages::size(SlotId slot) const {
  return memory_bytes(program_.storages[program_.slots[slot].storage]);
}

std::uint64_t memory_bytes(const Storage& storage) {
  return storage.device.type == DeviceType::kMeta ? 0 : static_cast<std::uint64_t>(storage.bytes);
}

std::vector<std::uint64_t> live_bytes(const Program& program, const std::vector<SlotUse>& uses,
                                      const Lifetimes& lifetimes) {
  UNDERSTUDY_ASSERT(uses.size() == lifetimes.deaths.size());
  std::vector<std::uint64_t> bytes;
  bytes.reserve(uses.size());
  LiveStorages live(program, lifetimes.outlive);
  for (std::size_t at = 0; at < uses.size(); ++at) {
    live.begin(uses[at]);
    bytes.push_back(live.bytes());
    live.end(uses[at], lifetimes.deaths[at]);
  }
  return bytes;
}

std::vector<SlotUse> uses_of(const Program& program) {
  std::vector<SlotUse> uses;
  uses.reserve(program.instructions.size());
  UseReader reader(program);
  for (const Instruction& instruction : program.instructions) {
    uses.push_back(reader.next(instruction));
  }
  return uses;
}

}  // namespace understudy::et_schema
