#include "liveness.h"

#include <ATen/core/enum_tag.h>

#include <algorithm>
#include <cstddef>

#include "et_schema/base/assert.h"

namespace understudy::replayer {
namespace {

using et_schema::Lifetimes;
using et_schema::LifetimeScope;
using et_schema::Program;
using et_schema::SlotId;
using et_schema::SlotUse;
using et_schema::StepDeaths;

/// Keeps results that are read later, or held; others are not stored.
void keep_read_results(const StepDeaths& deaths, std::size_t at, BoundProgram& bound,
                       std::vector<std::vector<StoredResult>>& stored) {
  const IndexRange range = bound.steps[at].stored;
  for (std::uint32_t i = range.begin; i < range.end; ++i) {
    const SlotId slot = bound.stored[i].slot;
    if (std::find(deaths.unread.begin(), deaths.unread.end(), slot) == deaths.unread.end()) {
      stored[at].push_back(bound.stored[i]);
    }
  }
}

/// Moves a slot that dies with this step to the stack if it occurs there once; the operator then
/// frees it as early as the original's. Returns false if the slot must be dropped after the step.
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

/// Returns the slots to drop after a step, without those that the step moves.
std::vector<SlotId> slots_to_drop(const Step& step, const StepDeaths& deaths, BoundProgram& bound) {
  std::vector<SlotId> dropped;
  if (step.kind == StepKind::kGive || step.kind == StepKind::kAlias ||
      step.kind == StepKind::kStart) {
    dropped = deaths.unread;  // these steps set the slot even if nothing reads it
  }
  for (const SlotId slot : deaths.last_reads) {
    if (!give_away(step, slot, bound)) {
      dropped.push_back(slot);
    }
  }
  dropped.insert(dropped.end(), deaths.let_go.begin(), deaths.let_go.end());
  return dropped;
}

/// Operators such as transpose_ change a tensor's layout in place, but a slot has one layout. If
/// the slot is read later, the call gets another tensor.
void keep_layout(const Step& step, BoundProgram& bound) {
  if (step.kind != StepKind::kCall || !step.handle->hasTag(at::Tag::inplace_view)) {
    return;
  }
  StackEntry& self = bound.entries[step.entries.begin];
  if (self.from == StackEntry::From::kSlot) {
    self.from = StackEntry::From::kView;
  }
}

}  // namespace

void apply_liveness(const Program& program, const std::vector<SlotUse>& uses,
                    const LifetimeScope& scope, BoundProgram& bound) {
  UNDERSTUDY_ASSERT(uses.size() == bound.steps.size());
  const Lifetimes lifetimes = lifetimes_of(program, uses, scope);
  std::vector<std::vector<StoredResult>> stored(bound.steps.size());
  for (std::size_t at = 0; at < bound.steps.size(); ++at) {
    keep_read_results(lifetimes.deaths[at], at, bound, stored);
  }
  bound.stored.clear();
  for (std::size_t at = 0; at < bound.steps.size(); ++at) {
    Step& step = bound.steps[at];
    const std::vector<SlotId> dropped = slots_to_drop(step, lifetimes.deaths[at], bound);
    keep_layout(step, bound);
    step.stored.begin = static_cast<std::uint32_t>(bound.stored.size());
    bound.stored.insert(bound.stored.end(), stored[at].begin(), stored[at].end());
    step.stored.end = static_cast<std::uint32_t>(bound.stored.size());
    step.dropped.begin = static_cast<std::uint32_t>(bound.dropped.size());
    bound.dropped.insert(bound.dropped.end(), dropped.begin(), dropped.end());
    step.dropped.end = static_cast<std::uint32_t>(bound.dropped.size());
  }
  const std::vector<std::uint64_t> bytes = live_bytes(program, uses, lifetimes);
  bound.live_peak_bytes = bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

}  // namespace understudy::replayer
