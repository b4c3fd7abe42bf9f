#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "predictor/operators/features.h"
#include "predictor/operators/trees.h"
#include "predictor/operators/two_clock.h"

namespace understudy::predictor {

/// A measured call in the form that models are fitted to.
struct Sample {
  Point point;
  double ln_ns = 0;
  std::uint32_t card = 0;  ///< number of the card among those of one fit
};
using Samples = std::vector<const Sample*>;

/// The kinds of models that compete in a fit.
enum class Candidate : std::uint8_t {
  kRoofline,          ///< floor + the larger of compute and memory time
  kNearest,           ///< ratio to the roofline, looked up from the five nearest sizes
  kTwoClock,          ///< the base of two_clock.h alone
  kTrees,             ///< that base times boosted trees
  kTransferred,       ///< trees shared with other cards, on a base fitted to this card
  kTransferredTrees,  ///< kTransferred with trees of its own in addition
  kMean               ///< geometric mean of kTransferredTrees and kTrees; must be last
};
/// Candidates that need rows of one card only.
inline constexpr std::array kOwnCandidates = {Candidate::kRoofline, Candidate::kNearest,
                                              Candidate::kTwoClock, Candidate::kTrees};
/// Returns the name in files: "two_clock+trees".
[[nodiscard]] std::string_view to_string(Candidate candidate);
[[nodiscard]] std::optional<Candidate> candidate_from_string(std::string_view name);

/// Operator → ln of how much slower it is than its group; a feature if several operators share a
/// model. Unlisted operators count as 0.
using OperatorCodes = std::map<std::string, float>;

/// A model that several cards share: bases, and trees fitted to the residuals of each card's base.
struct SharedModel {
  TwoClock wide;    ///< for cards with 10 GB/s of memory bandwidth per processor or more
  TwoClock narrow;  ///< for other cards: small boards, which sustain less of their peak
  OperatorCodes codes;
  Trees trees;

  [[nodiscard]] const TwoClock& base_of(const Point& point) const;
  /// Returns ln of the ratio to the base.
  [[nodiscard]] double residual(const Point& point) const;
  /// Returns ln of the nanoseconds on a card of which only the specification is known.
  [[nodiscard]] double ln_ns(const Point& point) const;
};
/// Fits a shared model. `cards` is the number of cards; each must have at least one sample.
[[nodiscard]] std::shared_ptr<const SharedModel> fit_shared(const Samples& samples,
                                                            std::size_t cards,
                                                            const TreeOptions& options = {});

/// Trend of the base's residuals with size: a slope over ln of the bound, starting at a knee.
struct Trend {
  double slope = 0;
  double knee = 0;
  /// Returns the trend's value, ln, to be added to the base.
  [[nodiscard]] double operator()(const Point& point) const;
  bool operator==(const Trend&) const = default;
};

/// A measured size and its residual.
struct Neighbour {
  std::array<float, kSizes + 1> at;  ///< the sizes, then the bytes of an element
  float residual;                    ///< ln t - ln roofline
};

/// A fitted model of calls on one card. Fields that its kind does not use are empty.
struct CallModel {
  Candidate kind = Candidate::kTwoClock;
  TwoClock base = {};  ///< kRoofline and kNearest evaluate it by roofline_ns()
  Trend trend = {};    ///< kTrees only, for calls above the samples
  double trust = 0;    ///< factor on the shared model's residual
  std::shared_ptr<const SharedModel> shared = nullptr;  ///< transferred kinds only
  OperatorCodes codes = {};
  Trees trees = {};
  std::vector<Neighbour> neighbours = {};  ///< kNearest only
  std::vector<CallModel> of = {};          ///< kMean only: the two models

  /// Returns ln of nanoseconds.
  [[nodiscard]] double ln_ns(const Point& point) const;
  /// Returns the base that separates host time from device time; null if the kind has none.
  [[nodiscard]] const TwoClock* host_base() const;
};
[[nodiscard]] bool is_transferred(Candidate candidate);

/// Fits a model of a kind to at least one sample. Only transferred kinds need `shared`.
[[nodiscard]] CallModel fit_model(Candidate candidate, const Samples& samples,
                                  const std::shared_ptr<const SharedModel>& shared = nullptr,
                                  const TreeOptions& options = {});

}  // namespace understudy::predictor
