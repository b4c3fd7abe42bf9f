#include "replayer/measure/speed_probe.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#if !defined(_OPENMP) && !defined(__clang_analyzer__)
#error "without OpenMP at::parallel_for is a loop, and not all cores are measured"
#endif

namespace understudy::replayer {
namespace {

/// About 0.1 ms each, so that an interruption affects only some of them. Changing these numbers
/// makes earlier reports incomparable.
constexpr int kPieces = 4;
constexpr int kStepsOfPiece = 100'000;

/// The linear congruential generator of Knuth's MMIX: each step depends on the one before.
void run_chain() {
  constexpr std::uint64_t kFactor = 6364136223846793005U;
  constexpr std::uint64_t kSummand = 1442695040888963407U;
  std::uint64_t state = 1;
  for (int step = 0; step < kStepsOfPiece; ++step) {
    state = state * kFactor + kSummand;
    asm volatile("" : "+r"(state));  // keeps the compiler from merging steps
  }
}

double piece_ms() {
  using Clock = std::chrono::steady_clock;
  std::vector<double> of_threads(static_cast<std::size_t>(at::get_num_threads()));
  at::parallel_for(0, static_cast<std::int64_t>(of_threads.size()), 1,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t thread = begin; thread < end; ++thread) {
                       const Clock::time_point start = Clock::now();
                       run_chain();
                       const std::chrono::duration<double, std::milli> spent = Clock::now() - start;
                       of_threads[static_cast<std::size_t>(thread)] = spent.count();
                     }
                   });
  return *std::ranges::max_element(of_threads);
}

}  // namespace

double speed_probe_ms() {
  double fastest_ms = std::numeric_limits<double>::infinity();
  for (int piece = 0; piece < kPieces; ++piece) {
    fastest_ms = std::min(fastest_ms, piece_ms());
  }
  return fastest_ms;
}

}  // namespace understudy::replayer
