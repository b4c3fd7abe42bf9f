// Letters between ranks, over MPI itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "mpi_wire.h"

namespace understudy::backends {
namespace {

/// Each rank writes to the next one, and answers nothing before it has heard of the one before.
TEST(Letters, AreFreedOnceTheyAreSent) {
  MpiWire wire({});
  const int next = (wire.rank() + 1) % wire.world_size();
  constexpr int kLetters = 2000;
  const std::array<std::byte, kLargestLetter> letter{};
  std::size_t most = 0;
  for (int i = 0; i < kLetters; ++i) {
    wire.post(next, letter);
    most = std::max(most, wire.letters_under_way());
    while (!wire.next_letter()) {
    }
  }
  EXPECT_LE(most, 16U);
}

}  // namespace
}  // namespace understudy::backends
