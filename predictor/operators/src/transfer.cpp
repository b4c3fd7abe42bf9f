#include "predictor/operators/transfer.h"

#include <algorithm>
#include <cmath>

#include "et_schema/base/interval.h"

namespace understudy::predictor {
namespace {

double per_clock(double per_s, const Card& card) {
  return per_s / std::max(card.processors, 1.0) / std::max(card.clock_hz, 1.0);
}

/// Shares of the peaks.
const KernelLoad& shares_of(const Card& card) {
  static constexpr KernelLoad kNvidia = {0.6, 0.9};
  static constexpr KernelLoad kAmd = {0.3, 0.77};
  return is_of_amd(card) ? kAmd : kNvidia;
}

}  // namespace

bool is_of_amd(const Card& card) {
  return card.name.find("AMD") != std::string::npos ||
         card.name.find("Instinct") != std::string::npos;
}

KernelLoad reached(const KernelLoad& at_peaks, const Card& card) {
  const KernelLoad& shares = shares_of(card);
  return {at_peaks.compute_ns / shares.compute_ns, at_peaks.memory_ns / shares.memory_ns};
}

double transferred_ns(double ns, const KernelLoad& at_here, const KernelLoad& at_there,
                      const Card& here, const Card& there) {
  constexpr double kWhole = 0.999;  // memory never explains all: something is left to scale
  const double memory_ns = std::min(at_here.memory_ns, kWhole * ns);
  const double rest_ns = std::sqrt(ns * ns - memory_ns * memory_ns);
  const double arithmetic = at_here.compute_ns > 0 ? at_there.compute_ns / at_here.compute_ns : 1;
  const bool have_clocks = here.clock_hz > 0 && there.clock_hz > 0;
  const double clocks = have_clocks ? here.clock_hz / there.clock_hz : 1;
  const double explained = std::min(at_here.compute_ns / rest_ns, 1.0);
  // Small kernels wait for instructions and memory, however little of its peak a maker reaches.
  const double shares = shares_of(there).compute_ns / shares_of(here).compute_ns;
  const double waiting = std::sqrt(clocks * arithmetic * shares);
  const double ratio = explained * arithmetic + (1 - explained) * waiting;
  // Bytes that came faster than memory reaches come so there, too: a cache had them.
  const double cached = at_here.memory_ns > 0 ? memory_ns / at_here.memory_ns : 1;
  return et_schema::root_sum_square(rest_ns * ratio, at_there.memory_ns * cached);
}

double cache_octaves(const Card& one, const Card& other) {
  const auto fill_s = [](const Card& card) {
    return std::max(card.l2_bytes, 1.0) / card.bandwidth_bytes_per_s;
  };
  return std::log2(fill_s(one) / fill_s(other));
}

double octaves_between(const Card& one, const Card& other, DType dtype) {
  constexpr double kOfArithmetic = 0.7;
  constexpr double kOfCache = 0.2;
  constexpr double kOtherMaker = 1.5;
  const double arithmetic = std::log2(peak_flops(one, dtype) / peak_flops(other, dtype));
  const double memory = std::log2(one.bandwidth_bytes_per_s / other.bandwidth_bytes_per_s);
  const double generation = std::log2(per_clock(peak_flops(one, dtype), one) /
                                      per_clock(peak_flops(other, dtype), other));
  const double makers = is_of_amd(one) == is_of_amd(other) ? 0 : kOtherMaker;
  return et_schema::root_sum_square(
      et_schema::root_sum_square(kOfArithmetic * arithmetic, memory),
      et_schema::root_sum_square(et_schema::root_sum_square(generation, makers),
                                 kOfCache * cache_octaves(one, other)));
}

TimeShares time_shares(double ns, double least_ns, const KernelLoad& at_card) {
  const double least = std::min(least_ns / ns, 1.0);
  const double compute = std::min(at_card.compute_ns / ns, 1.0);
  const double memory = std::min(at_card.memory_ns / ns, 1.0);
  const double sum = std::max(compute + memory, 1.0);
  return {least, (1 - least) * compute / sum, (1 - least) * memory / sum,
          (1 - least) * std::max(1 - compute - memory, 0.0)};
}

double width_of(const Leaned& leaned, double spread) {
  constexpr double kLeastWidth = 0.1;
  return std::max(et_schema::root_sum_square(leaned.own_width, leaned.unlike * spread),
                  kLeastWidth);
}

}  // namespace understudy::predictor
