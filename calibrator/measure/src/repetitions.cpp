#include "repetitions.h"

namespace understudy::calibrator {
namespace {

constexpr std::size_t kCallsBetweenRestores = 8;
constexpr double kNano = 1e9;
constexpr double kSlowNs = 0.25 * kNano;

}  // namespace

Repetitions::Repetitions(BoundCall& call, const TimingLimits& limits, double first_ns)
    : call_(call), limits_(limits) {
  if (first_ns > kSlowNs) {
    limits_.least = 1;
  }
}

bool Repetitions::next() {
  const bool has_time = begun_ < limits_.most && spent_ns_ < limits_.seconds * kNano;
  if (begun_ >= limits_.least && !has_time) {
    return false;
  }
  if (begun_ % kCallsBetweenRestores == 0) {
    call_.restore();
  }
  ++begun_;
  return true;
}

}  // namespace understudy::calibrator
