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

/// A measured call as models are fitted to it.
struct Sample {
  Point point;
  double ln_ns = 0;
  std::uint32_t card = 0;  ///< tells the cards of one fit apart
};
using Samples = std::vector<const Sample*>;

/// The kinds of models that are compared.
enum class Candidate : std::uint8_t {
  kRoofline,          ///< floor + the slower of two shares of the peaks
  kNearest,           ///< the five nearest sizes' ratio to the roofline: a look-up
  kTwoClock,          ///< two_clock.h alone
  kTrees,             ///< two_clock.h times boosted trees
  kTransferred,       ///< trees of other cards on a base that is fitted to this one
  kTransferredTrees,  ///< the same, and trees of its own on top
  kMean               ///< the mean, of ln t, of the latter and of two_clock+trees; last
};
/// Those that are tried of one card alone.
inline constexpr std::array kOwnCandidates = {Candidate::kRoofline, Candidate::kNearest,
                                              Candidate::kTwoClock, Candidate::kTrees};
/// "two_clock+trees".
[[nodiscard]] std::string_view to_string(Candidate candidate);
[[nodiscard]] std::optional<Candidate> candidate_from_string(std::string_view name);

/// How much slower than the rest operators are, ln: a feature where several share a model. An
/// operator that is not among them counts as 0.
using OperatorCodes = std::map<std::string, float>;

/// What cards have in common: bases, and trees on what each card's own leaves.
struct SharedModel {
  TwoClock wide;    ///< of cards with 10 GB/s of memory bandwidth a processor and more
  TwoClock narrow;  ///< of others: small boards, which sustain less of their peak
  OperatorCodes codes;
  Trees trees;

  [[nodiscard]] const TwoClock& base_of(const Point& point) const;
  /// Ratio to the base, ln.
  [[nodiscard]] double residual(const Point& point) const;
  /// On a card of which nothing is known but its specification: ln of nanoseconds.
  [[nodiscard]] double ln_ns(const Point& point) const;
};
/// `cards` numbers the samples' cards from 0. At least one sample of each.
[[nodiscard]] std::shared_ptr<const SharedModel> fit_shared(const Samples& samples,
                                                            std::size_t cards,
                                                            const TreeOptions& options = {});

/// The trend of the base's residuals with size: a slope over ln of the bound, from a knee on.
struct Trend {
  double slope = 0;
  double knee = 0;
  /// ln, to be added.
  [[nodiscard]] double operator()(const Point& point) const;
  bool operator==(const Trend&) const = default;
};

/// A measured size and what it took.
struct Neighbour {
  std::array<float, kSizes + 1> at;  ///< sizes, bytes of an element
  float residual;                    ///< ln t - ln roofline
};

/// A fitted model of calls on one card. What its kind does not have is empty.
struct CallModel {
  Candidate kind = Candidate::kTwoClock;
  TwoClock base = {};  ///< of kRoofline and kNearest read by roofline_ns()
  Trend trend = {};    ///< of kTrees, where it answers above the samples
  double trust = 0;    ///< of the shared model's residual that is taken
  std::shared_ptr<const SharedModel> shared = nullptr;  ///< of the transferred kinds
  OperatorCodes codes = {};
  Trees trees = {};
  std::vector<Neighbour> neighbours = {};  ///< of kNearest
  std::vector<CallModel> of = {};          ///< of kMean: two, each of which errs in its own way

  /// ln of nanoseconds.
  [[nodiscard]] double ln_ns(const Point& point) const;
  /// What separates the host's part from the device's; null where the kind has none.
  [[nodiscard]] const TwoClock* host_base() const;
};
[[nodiscard]] bool is_transferred(Candidate candidate);

/// Fits a model of the kind. `shared` is needed by the transferred kinds alone. At least one
/// sample.
[[nodiscard]] CallModel fit_model(Candidate candidate, const Samples& samples,
                                  const std::shared_ptr<const SharedModel>& shared = nullptr,
                                  const TreeOptions& options = {});

}  // namespace understudy::predictor
