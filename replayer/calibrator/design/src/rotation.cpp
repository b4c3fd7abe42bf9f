#include "replayer/calibrator/design/rotation.h"

#include <algorithm>
#include <utility>

#include "et_schema/base/assert.h"

namespace understudy::calibrator {

Rotation::Rotation(std::vector<Area> areas) {
  for (Area& area : areas) {
    AreaCounts counts{area.name(), area.op_class()};
    states_.push_back({std::move(area), std::move(counts)});
  }
}

Rotation::State* Rotation::least_served() {
  State* chosen = nullptr;
  for (State& state : states_) {
    if (!state.has_ended &&
        (chosen == nullptr || state.counts.spent_s / state.area.weight() <
                                  chosen->counts.spent_s / chosen->area.weight())) {
      chosen = &state;
    }
  }
  return chosen;
}

std::optional<Call> Rotation::next() {
  constexpr std::uint64_t kMostTries = 2000;  // in a row that give no different call
  while ((current_ = least_served()) != nullptr) {
    for (std::uint64_t tries = 0; tries < kMostTries; ++tries) {
      std::optional<Call> call = current_->area.at(current_->next++);
      if (call && current_->seen.insert(to_text(*call)).second) {
        return call;
      }
    }
    current_->has_ended = true;
  }
  return std::nullopt;
}

void Rotation::add(bool is_timed, double spent_s) {
  UNDERSTUDY_ASSERT(current_ != nullptr);
  AreaCounts& counts = current_->counts;
  ++(is_timed ? counts.timed : counts.refused);
  // Calls that were measured before cost no time. Without a least one, the first area would always
  // be chosen.
  constexpr double kLeastSeconds = 1e-6;
  counts.spent_s += std::max(spent_s, kLeastSeconds);
  constexpr std::size_t kMostRefused = 6;
  current_->has_ended = counts.timed == 0 && counts.refused >= kMostRefused;
}

std::vector<AreaCounts> Rotation::counts() const {
  std::vector<AreaCounts> counts;
  for (const State& state : states_) {
    counts.push_back(state.counts);
  }
  return counts;
}

}  // namespace understudy::calibrator
