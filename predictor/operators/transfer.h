#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

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

/// Returns the distance between two cards in octaves (factors of two): of bandwidth, of arithmetic
/// of the type (weighted 0.7), and of arithmetic that a processor does in a clock, which cards of a
/// generation share. Cards of different makers are farther apart.
[[nodiscard]] double octaves_between(const Card& one, const Card& other, DType dtype);

/// Shares of a call's time, which add up to 1: its least time, arithmetic, memory, and the rest.
inline constexpr std::size_t kTimeShares = 4;
using TimeShares = std::array<double, kTimeShares>;
[[nodiscard]] TimeShares time_shares(double ns, double least_ns, const KernelLoad& at_card);

/// How a group's calls are carried over to other cards: the rule with which the cards that were
/// measured predict each other best. Cards that are d octaves apart are unlike by d² / (1 + d²).
struct Transfer {
  double spread = 0.7;  ///< error (ln, 90 %) of cards that are wholly unlike
  /// Part (of ln) of a model that is asked with the figures of a wholly unlike card; the rest is
  /// its time on its own card, transferred_ns().
  double as_there = 0;
  double power = 2;  ///< weights of cards are 1 / octaves² to this power
};

/// What one measured card says of a call on another card.
struct Told {
  double octaves = 0;   ///< between the two
  double ln_ns = 0;     ///< by transferred_ns()
  double ln_there = 0;  ///< by its model, with the other card's figures
  double host_ns = 0;   ///< the host's part of a timed call; 0: none
  double least_ns = 0;  ///< of any call
  double width = 0;     ///< ln, of its model, half the 90 % interval
};

/// What measured cards say of a call on another card.
struct Leaned {
  double ln_ns = 0;
  TimeShares shares = {};
  double width = 0;              ///< ln, half the 90 % interval
  double own_width = 0;          ///< the same of the measured cards' models there
  double unlike = 0;             ///< as Transfer says, by the measured cards' weights
  double host_ns = 0;            ///< the host's part of a timed call; 0: none
  double least_share = 1;        ///< as FittedModel::least_share
  bool is_known = false;         ///< the operator itself was measured there, not only its family
  bool is_extrapolated = false;  ///< the call is outside of what was measured there
};

/// What each measured card says of a call on another card.
struct Answers {
  std::vector<Told> told = {};
  std::string group = {};    ///< the nearest card's model: its operator or family
  KernelLoad at_there = {};  ///< reached()
  Leaned leaned = {};        ///< what does not depend on the rule
  /// Returns what the cards say together. Needs at least one card.
  [[nodiscard]] Leaned by(const Transfer& rule) const;
};

}  // namespace understudy::predictor
