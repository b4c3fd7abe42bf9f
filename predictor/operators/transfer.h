#pragma once

#include <array>
#include <cstddef>

#include "predictor/operators/features.h"

namespace understudy::predictor {

/// Returns true for AMD's cards: others' kernels are NVIDIA's libraries.
[[nodiscard]] bool is_of_amd(const Card& card);

/// Returns the times of a call's kernels at the shares of the peaks that its maker's libraries
/// usually reach.
[[nodiscard]] KernelLoad reached(const KernelLoad& at_peaks, const Card& card);

/// Returns what a call takes on `there` that takes `ns` on the device `here`. Its memory takes the
/// bytes at the reachable bandwidth; what is left, in quadrature, follows the arithmetic of its
/// kernels as far as that explains it, else by half the clock and by half that arithmetic, since
/// newer cards also have better kernels. `at_here` and `at_there` are reached().
[[nodiscard]] double transferred_ns(double ns, const KernelLoad& at_here,
                                    const KernelLoad& at_there, const Card& here,
                                    const Card& there);

/// Returns log2 of the ratio of the times in which the cards' memories fill their caches.
[[nodiscard]] double cache_octaves(const Card& one, const Card& other);

/// Returns the distance between two cards in octaves (factors of two): of bandwidth, of arithmetic
/// of the type (weighted 0.7), of arithmetic that a processor does in a clock, which cards of a
/// generation share, and of the cache (0.2). Cards of different makers are farther apart.
[[nodiscard]] double octaves_between(const Card& one, const Card& other, DType dtype);

/// Shares of a call's time, which add up to 1: its least time, arithmetic, memory, and the rest.
inline constexpr std::size_t kTimeShares = 4;
using TimeShares = std::array<double, kTimeShares>;
[[nodiscard]] TimeShares time_shares(double ns, double least_ns, const KernelLoad& at_card);

/// What the measured cards say of a call on another card: the mean, weighted by 1 / octaves⁴.
struct Leaned {
  double ln_ns = 0;
  TimeShares shares = {};
  double width = 0;              ///< ln, half the 90 % interval
  double own_width = 0;          ///< the same of the measured cards' models there
  double unlike = 0;             ///< 0 for the same card, towards 1 for one that is farther away
  double host_ns = 0;            ///< the host's part of a timed call; 0: none
  double least_share = 1;        ///< as FittedModel::least_share
  bool is_known = false;         ///< the operator itself was measured there, not only its family
  bool is_extrapolated = false;  ///< the call is outside of what was measured there
};

/// Returns the width that own_width and unlike give, if the error (ln, 90 %) of wholly unlike cards
/// is `spread`.
[[nodiscard]] double width_of(const Leaned& leaned, double spread);

}  // namespace understudy::predictor
