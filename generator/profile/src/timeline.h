#pragma once

#include <vector>

#include "generator/link/host.h"

namespace understudy::generator {

/// A host event begins or ends.
struct Moment {
  HostIndex event = kNoEvent;
  bool is_begin = false;
  bool operator==(const Moment&) const = default;
};

/// Begins and ends of all host events in the order of time, those of a thread nested: an event that
/// begins inside of another one and ends behind it is the other one's sibling.
[[nodiscard]] std::vector<Moment> moments(const HostEvents& host);

}  // namespace understudy::generator
