#include "predictor/operators/anchored.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "predictor/operators/features.h"
#include "predictor/operators/transfer.h"
#include "predictor/operators/two_clock.h"

namespace understudy::predictor {
namespace {

/// Properties of a vendor's cards that are in no specification (docs/prediction.md, "From a
/// profile").
struct Maker {
  double floor_ns;           ///< 1st percentile of kernels in profiles of its cards
  double attention_latency;  ///< of a block, relative to NVIDIA
  double product_latency;
  double other_latency;
  TwoClock usual;  ///< shares of the peaks that its libraries reach
  /// Products with unaligned rows: FLOPs per clock and processor (infinite: no bound), and the
  /// share of the bandwidth.
  double unaligned_flops, unaligned_memory_share;
};

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr Maker kNvidia = {1500, 1, 1, 1, {0, 0, 0.7, 0.7}, 290, 0.7};
constexpr Maker kAmd = {2200, 3.2, 0.8, 1.3, {0, 0, 0.35, 0.6}, kUnbounded, 0.39};
/// PyTorch's softmax of long unaligned rows has the same source for all vendors.
constexpr double kUnalignedSoftmaxShare = 0.2;

const Maker& maker_of(const Card& card) {
  return is_of_amd(card) ? kAmd : kNvidia;
}

/// Upper limit of a block's latency in a kernel with little work: about ten dependent accesses of
/// 0.3 µs. Any further time is inefficient work.
constexpr double kLongestLatencyNs = 3000;

/// By TimePart: half the width of the 90 % interval an octave away, as a share. Not measured.
constexpr std::array<double, kTimeParts> kWidths = {0.25, 0.4, 0.4, 0.25, 0.7, 0.1};

/// Returns true for classes whose kernels are in a vendor's own libraries.
bool is_library_class(std::string_view kernel_class) {
  return kernel_class == "matmul" || kernel_class == "convolution";
}

bool is_product_class(std::string_view kernel_class) {
  return is_library_class(kernel_class) || kernel_class == "attention";
}

/// Returns how much of a kernel's deviation from the usual time (in ln) carries over to another
/// maker's card: less if the library also differs. PyTorch's own kernels have one source for all
/// makers, and FlashAttention one algorithm.
double shared_part(std::string_view of_class) {
  constexpr double kOfOneSource = 0.75;
  constexpr double kOfLibraries = 0.5;
  return is_library_class(of_class) ? kOfLibraries : kOfOneSource;
}

/// Returns true if a row's bytes are not a multiple of `bytes`.
bool is_unaligned(double row_length, DType dtype, double bytes) {
  return std::fmod(row_length * static_cast<double>(et_schema::item_size(dtype)), bytes) != 0;
}

/// Returns the usual shares of the card's peaks for a call.
TwoClock usual_shares(const OperatorCall& call, const Card& card) {
  constexpr double kVectorBytes = 16;   // bytes of a vector load in PyTorch's softmax
  constexpr double kRowOfAWarp = 1024;  // longer rows use vector loads
  constexpr double kCopyBytes = 4;      // smallest copy of cp.async
  const Maker& maker = maker_of(card);
  const Work work = work_of(call);
  const DType dtype = compute_dtype(call);
  TwoClock usual = maker.usual;
  if (work.family == Family::kSoftmax && work.row_length > kRowOfAWarp &&
      is_unaligned(work.row_length, dtype, kVectorBytes)) {
    usual.memory_share = kUnalignedSoftmaxShare;
  }
  const bool is_half = et_schema::is_floating(dtype) && et_schema::item_size(dtype) == 2;
  if (work.family == Family::kMatmul && is_half &&
      (is_unaligned(work.product.n, dtype, kCopyBytes) ||
       is_unaligned(work.product.k, dtype, kCopyBytes))) {
    const double clocks_hz = card.processors * card.clock_hz;
    if (clocks_hz > 0) {
      usual.compute_share = std::min(usual.compute_share,
                                     maker.unaligned_flops * clocks_hz / peak_flops(card, dtype));
    }
    usual.memory_share = maker.unaligned_memory_share;
  }
  return usual;
}

bool is_unknown(const OperatorCall& call) {
  return call.inputs.empty() && call.outputs.empty();
}

/// Returns the kernels' time at the usual shares of the peaks; 0 if the work is unknown.
double usual_ns(const OperatorCall& call, const Card& card) {
  if (is_unknown(call)) {
    return 0;
  }
  const KernelLoad load = point_of(call, card).kernels;
  return kernel_ns(usual_shares(call, card), load.compute_ns, load.memory_ns);
}

/// Returns the operator's class, or the kernels' class if there is no operator.
std::string_view work_class(const RecordedKernels& recorded) {
  return recorded.call.name.empty() ? recorded.kernel_class
                                    : to_string(family_of(recorded.call.name));
}

/// Half of the latency (in ln) is instructions, which scale with the clock; the rest is memory.
double latency_ratio(std::string_view of_class, const Card& here, const Card& there) {
  const bool have_clocks = here.clock_hz > 0 && there.clock_hz > 0;
  const double clocks = have_clocks ? std::sqrt(here.clock_hz / there.clock_hz) : 1;
  const double Maker::*const latency = of_class == "attention"      ? &Maker::attention_latency
                                       : is_product_class(of_class) ? &Maker::product_latency
                                                                    : &Maker::other_latency;
  return maker_of(there).*latency / maker_of(here).*latency * clocks;
}

double peak_ratio(std::string_view kernel_class, const Card& here, const Card& there) {
  if (!is_product_class(kernel_class)) {
    return here.bandwidth_bytes_per_s / there.bandwidth_bytes_per_s;
  }
  constexpr auto kType = DType::kBFloat16;  // the usual type of products
  return has_peak(here, kType) && has_peak(there, kType)
             ? peak_flops(here, kType) / peak_flops(there, kType)
             : here.flops / there.flops;
}

}  // namespace

TimeParts& TimeParts::operator+=(const TimeParts& other) {
  for (std::size_t i = 0; i < kTimeParts; ++i) {
    ns[i] += other.ns[i];
  }
  unlike = std::max(unlike, other.unlike);
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
  return std::sqrt(squares) * unlike;
}

TimeParts anchored_time(const RecordedKernels& recorded, const Card& here, const Card& there) {
  TimeParts parts;
  if (recorded.crosses_hosts) {
    parts[TimePart::kKept] = recorded.ns;
    return parts;
  }
  parts.unlike = std::min(octaves_between(here, there, compute_dtype(recorded.call)), 1.0);
  const Maker& maker_here = maker_of(here);
  const Maker& maker_there = maker_of(there);
  const std::string_view of_class = work_class(recorded);
  const double floors_ns = recorded.kernels * maker_here.floor_ns;
  parts[TimePart::kFloors] =
      recorded.kernels * maker_there.floor_ns * std::min(recorded.ns / floors_ns, 1.0);
  const double above_ns = std::max(recorded.ns - floors_ns, 0.0);
  const TimePart of_work = is_product_class(of_class) ? TimePart::kProducts : TimePart::kMemory;
  if (above_ns > 0 && !is_unknown(recorded.call) && &maker_here == &maker_there) {
    parts[of_work] =
        transferred_ns(above_ns, reached(point_of(recorded.call, here).kernels, here),
                       reached(point_of(recorded.call, there).kernels, there), here, there);
    return parts;
  }
  const double usual_here_ns = usual_ns(recorded.call, here);
  const double work_ns = std::min(usual_here_ns, above_ns);
  const bool is_one_block_long = recorded.blocks > 0 && recorded.blocks <= here.processors;
  const double late_ns = is_one_block_long
                             ? above_ns - work_ns
                             : std::min(above_ns - work_ns, recorded.kernels * kLongestLatencyNs);
  parts[TimePart::kLatency] = late_ns * latency_ratio(of_class, here, there);
  const double rest_ns = above_ns - late_ns;
  if (work_ns <= 0) {
    parts[TimePart::kUnknown] = rest_ns * peak_ratio(of_class, here, there);
    return parts;
  }
  // A kernel cannot exceed the card's peak. If the recorded time says it did, the kernel did less
  // work than its arguments suggest (a mixture-of-experts layer reads only the selected experts),
  // and it does so on every card.
  const bool does_less = rest_ns < roofline_bound_ns(recorded.call, here);
  const double part = does_less ? 1 : shared_part(of_class);
  const double least_ns =
      does_less ? 0 : std::min(roofline_bound_ns(recorded.call, there), rest_ns);
  parts[of_work] =
      std::max(usual_ns(recorded.call, there) * std::pow(rest_ns / usual_here_ns, part), least_ns);
  return parts;
}

double roofline_bound_ns(const OperatorCall& call, const Card& card) {
  return is_unknown(call) ? 0 : bound_ns(point_of(call, card));
}

}  // namespace understudy::predictor
