#pragma once

#include <cstdint>
#include <vector>

namespace understudy::et_schema {

/// How a rank runs its communications so that ranks never wait for each other in a circle. Both by
/// communication of the program, in order of its instructions, waits and bodies apart.
struct CommOrder {
  /// Its turn where communications complete one at a time: all ranks of a job take turns in one
  /// order, which is that of the program wherever no circle forbids it. 0, 1, … in some order.
  std::vector<std::uint32_t> turns;
  /// A send that the program joins before its receive can have been started: its data has to be
  /// kept apart, since no transport promises to.
  std::vector<bool> kept_apart;
  bool operator==(const CommOrder&) const = default;
};

}  // namespace understudy::et_schema
