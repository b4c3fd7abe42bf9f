#include "predictor/operators/anchored.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "predictor/operators/features.h"
#include "predictor/operators/two_clock.h"

namespace understudy::predictor {
namespace {

/// What no specification tells of a card, by its maker.
struct KernelTimes {
  double floor_ns;  ///< the shortest hundredth of kernels in profiles of such cards
  double latency;   ///< of dependent accesses, relative to NVIDIA's
};

/// NVIDIA: 1.50 µs on an A100 (ResNet), 1.57 on an H100 (Qwen); AMD: 2.24 on an MI210. CDNA 3 has
/// 4 MB of second-level cache a die: what one kernel wrote, the next reads from the cache behind
/// it, which takes about a quarter longer than NVIDIA's second level.
KernelTimes kernel_times_of(const Card& card) {
  const bool is_amd =
      card.name.find("AMD") != std::string::npos || card.name.find("Instinct") != std::string::npos;
  return is_amd ? KernelTimes{2200, 1.25} : KernelTimes{1500, 1};
}

/// No block of a kernel that has hardly any work lives longer than some ten dependent accesses of
/// 0.3 µs; what a kernel takes beyond that is work done badly.
constexpr double kLongestLatencyNs = 3000;

/// The shares of the peaks that kernels reach, as those of two_clock that few rows pull towards.
constexpr TwoClock kUsual = {
    .floor_ns = 0, .fixed_ns = 0, .compute_share = 0.6, .memory_share = 0.7};

/// By TimePart: half the width of the 90 % interval, as a share. They are choices.
constexpr std::array<double, kTimeParts> kWidths = {0.25, 0.4, 0.4, 0.25, 0.7, 0.1};

/// Half of a latency is instructions, which the clock shortens; half is memory.
double latency_ratio(const Card& here, const Card& there) {
  const bool have_clocks = here.clock_hz > 0 && there.clock_hz > 0;
  const double clocks = have_clocks ? std::sqrt(here.clock_hz / there.clock_hz) : 1;
  return kernel_times_of(there).latency / kernel_times_of(here).latency * clocks;
}

bool is_product_class(std::string_view kernel_class) {
  return kernel_class == "matmul" || kernel_class == "convolution" || kernel_class == "attention";
}

bool is_product(const OperatorCall& call) {
  const Family family = family_of(call.name);
  return family == Family::kMatmul || family == Family::kConvolution ||
         family == Family::kAttention;
}

/// Of the call's kernels at usual shares of the peaks; 0: it tells no work.
double usual_ns(const OperatorCall& call, const Card& card) {
  if (call.inputs.empty() && call.outputs.empty()) {
    return 0;
  }
  const Point point = point_of(call, card);
  return kernel_ns(kUsual, point.kernels.compute_ns, point.kernels.memory_ns);
}

double peak_ratio(std::string_view kernel_class, const Card& here, const Card& there) {
  if (!is_product_class(kernel_class)) {
    return here.bandwidth_bytes_per_s / there.bandwidth_bytes_per_s;
  }
  constexpr auto kType = et_schema::DType::kBFloat16;  // what products of today are in
  return has_peak(here, kType) && has_peak(there, kType)
             ? peak_flops(here, kType) / peak_flops(there, kType)
             : here.flops / there.flops;
}

}  // namespace

TimeParts& TimeParts::operator+=(const TimeParts& other) {
  for (std::size_t i = 0; i < kTimeParts; ++i) {
    ns[i] += other.ns[i];
  }
  return *this;
}

double TimeParts::total_ns() const {
  return std::accumulate(ns.begin(), ns.end(), 0.0);
}

double TimeParts::half_width_ns() const {
  double squares = 0;
  for (std::size_t i = 0; i < kTimeParts; ++i) {
    squares += ns[i] * kWidths[i] * ns[i] * kWidths[i];
  }
  return std::sqrt(squares);
}

TimeParts anchored_time(const RecordedKernels& recorded, const Card& here, const Card& there) {
  TimeParts parts;
  if (recorded.crosses_hosts) {
    parts[TimePart::kKept] = recorded.ns;
    return parts;
  }
  const double floors_ns = recorded.kernels * kernel_times_of(here).floor_ns;
  const double floors_there_ns = recorded.kernels * kernel_times_of(there).floor_ns;
  parts[TimePart::kFloors] = floors_there_ns * std::min(recorded.ns / floors_ns, 1.0);
  const double above_ns = std::max(recorded.ns - floors_ns, 0.0);
  const double work_ns = usual_ns(recorded.call, here);
  const double late_ns = std::clamp(above_ns - work_ns, 0.0, recorded.kernels * kLongestLatencyNs);
  parts[TimePart::kLatency] = late_ns * latency_ratio(here, there);
  const double rest_ns = above_ns - late_ns;
  if (work_ns <= 0) {
    parts[TimePart::kUnknown] = rest_ns * peak_ratio(recorded.kernel_class, here, there);
    return parts;
  }
  // What it took of the usual time here it takes there, but nothing is faster than the peaks.
  const double there_ns = std::max(usual_ns(recorded.call, there) * rest_ns / work_ns,
                                   std::min(roofline_bound_ns(recorded.call, there), rest_ns));
  parts[is_product(recorded.call) ? TimePart::kProducts : TimePart::kMemory] = there_ns;
  return parts;
}

double roofline_bound_ns(const OperatorCall& call, const Card& card) {
  return call.inputs.empty() && call.outputs.empty() ? 0 : bound_ns(point_of(call, card));
}

}  // namespace understudy::predictor
