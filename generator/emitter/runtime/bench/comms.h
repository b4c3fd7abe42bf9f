#pragma once

// Communication between ranks: by MPI if the project is built with it, otherwise none.

#ifdef BENCH_MPI
#include "comms_mpi.h"
#else

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace bench {

/// A job of one rank, which does not communicate.
class Comms {
 public:
  Comms(const std::vector<std::vector<int>>& /*groups*/, int /*ranks*/) {}
  static std::optional<std::string> problem() { return std::nullopt; }
  static int rank() { return 0; }
  static int size() { return 1; }
  static int cores() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }
  static void barrier() {}
  static bool any_rank(bool here) { return here; }
  static void max_of_ranks(std::vector<double>& /*values*/) {}
  static void abort() {}
};

}  // namespace bench

#endif
