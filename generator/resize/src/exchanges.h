#pragma once

#include <cstdint>
#include <vector>

namespace understudy::generator {

/// What a recorded rank sends to and receives from each rank of its group, in rows.
struct RecordedExchange {
  std::size_t position = 0;        ///< in the recorded group
  std::vector<std::int64_t> sent;  ///< by position
  std::int64_t received = 0;       ///< in sum
};

/// What each rank of a group of another size sends to each. `ranks`: whom each of its ranks does
/// as. Each sends as much as recorded: the part for a rank goes to those that do as it did, in
/// equal shares, or, where none does, to the rank that takes its turn. Each receives as much as
/// recorded where that is possible, which it is where all receive together what all send.
[[nodiscard]] std::vector<std::vector<std::int64_t>> dealt_exchange(
    const std::vector<RecordedExchange>& ranks);

}  // namespace understudy::generator
