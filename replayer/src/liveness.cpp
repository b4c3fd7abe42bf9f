#include "liveness.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "et_schema/assert.h"

namespace understudy::replayer {
namespace {

using et_schema::Program;
using et_schema::SlotId;
using et_schema::StorageId;

/// Results that are read later stay; the others are not stored at all.
void keep_read_results(const std::vector<bool>& live, std::size_t at, BoundProgram& bound,
                       std::vector<std::vector<StoredResult>>& stored) {
  const IndexRange range = bound.steps[at].stored;
  for (std::uint32_t i = range.begin; i < range.end; ++i) {
    if (live[bound.stored[i].slot]) {
      stored[at].push_back(bound.stored[i]);
    }
  }
}

/// A slot that dies with this step is given away on the stack where it stands there once and alone;
/// then the operator itself frees it as early as its original did. Returns false where it must be
/// dropped after the step.
bool give_away(const Step& step, SlotId slot, BoundProgram& bound) {
  StackEntry* only = nullptr;
  for (std::uint32_t i = step.entries.begin; i < step.entries.end; ++i) {
    StackEntry& entry = bound.entries[i];
    if (entry.from == StackEntry::From::kList) {
      for (const auto& element : bound.lists[entry.index].elements) {
        if (element.second == slot) {
          return false;
        }
      }
    } else if (entry.from != StackEntry::From::kConstant && entry.index == slot) {
      if (only != nullptr) {
        return false;
      }
      only = &entry;
    }
  }
  if (only == nullptr) {
    return false;
  }
  only->from = StackEntry::From::kLastUse;
  return true;
}

/// Bytes of the storages that some slot keeps alive.
class LiveBytes {
 public:
  explicit LiveBytes(const Program& program)
      : program_(program), holders_(program.storages.size()), held_(program.slots.size()) {}

  void hold(SlotId slot) {
    if (held_[slot] || is_external(slot)) {
      return;
    }
    held_[slot] = true;
    if (holders_[program_.slots[slot].storage]++ == 0) {
      bytes_ += size(slot);
      peak_ = std::max(peak_, bytes_);
    }
  }
  void release(SlotId slot) {
    if (!held_[slot]) {
      return;
    }
    held_[slot] = false;
    if (--holders_[program_.slots[slot].storage] == 0) {
      bytes_ -= size(slot);
    }
  }
  [[nodiscard]] std::uint64_t peak() const { return peak_; }

 private:
  [[nodiscard]] bool is_external(SlotId slot) const {
    return program_.slots[slot].external ||
           program_.storages[program_.slots[slot].storage].external;
  }
  [[nodiscard]] std::uint64_t size(SlotId slot) const {
    return static_cast<std::uint64_t>(program_.storages[program_.slots[slot].storage].bytes);
  }

  const Program& program_;
  std::vector<std::uint32_t> holders_;
  std::vector<bool> held_;
  std::uint64_t bytes_ = 0;
  std::uint64_t peak_ = 0;
};

}  // namespace

void apply_liveness(const Program& program, const std::vector<SlotUse>& uses,
                    const std::vector<bool>& needed, BoundProgram& bound) {
  UNDERSTUDY_ASSERT(uses.size() == bound.steps.size());
  std::vector<bool> live = needed;
  live.resize(program.slots.size());
  std::vector<std::vector<StoredResult>> stored(bound.steps.size());
  std::vector<std::vector<SlotId>> dying(bound.steps.size());
  std::vector<std::vector<SlotId>> dropped(bound.steps.size());
  for (std::size_t at = bound.steps.size(); at-- > 0;) {
    keep_read_results(live, at, bound, stored);
    for (const SlotId slot : uses[at].makes) {
      if (!live[slot]) {
        dying[at].push_back(slot);
        const StepKind kind = bound.steps[at].kind;
        if (kind == StepKind::kGive || kind == StepKind::kAlias || kind == StepKind::kStart) {
          dropped[at].push_back(slot);  // these put the tensor there whether it is read or not
        }
      }
      live[slot] = false;
    }
    for (const SlotId slot : uses[at].reads) {
      if (live[slot] || program.slots[slot].external) {
        continue;
      }
      live[slot] = true;
      dying[at].push_back(slot);
      if (!give_away(bound.steps[at], slot, bound)) {
        dropped[at].push_back(slot);
      }
    }
  }

  LiveBytes bytes(program);
  bound.stored.clear();
  for (std::size_t at = 0; at < bound.steps.size(); ++at) {
    Step& step = bound.steps[at];
    step.stored.begin = static_cast<std::uint32_t>(bound.stored.size());
    bound.stored.insert(bound.stored.end(), stored[at].begin(), stored[at].end());
    step.stored.end = static_cast<std::uint32_t>(bound.stored.size());
    step.dropped.begin = static_cast<std::uint32_t>(bound.dropped.size());
    bound.dropped.insert(bound.dropped.end(), dropped[at].begin(), dropped[at].end());
    step.dropped.end = static_cast<std::uint32_t>(bound.dropped.size());
    for (const SlotId slot : uses[at].makes) {
      bytes.hold(slot);
    }
    for (const SlotId slot : uses[at].unkept) {
      bytes.hold(slot);
    }
    for (const SlotId slot : uses[at].unkept) {
      bytes.release(slot);
    }
    for (const SlotId slot : dying[at]) {
      bytes.release(slot);
    }
  }
  bound.live_peak_bytes = bytes.peak();
}

}  // namespace understudy::replayer
