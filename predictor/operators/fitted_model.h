#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "predictor/fitting/errors.h"
#include "predictor/operators/call_model.h"

namespace understudy::predictor {

/// The half-width that holds nine tenths of |residuals|; of too few residuals the largest, and half
/// as much again. At least one.
[[nodiscard]] double conformal_width(std::vector<double> residuals);

/// Between which bounds and sizes a model has seen calls.
struct Range {
  std::array<float, kSizes + 1> low{}, high{};  ///< ln of the bound, and of the four sizes
  [[nodiscard]] static Range of(const Samples& samples);
  /// Outside by more than a fifth.
  [[nodiscard]] bool excludes(const Point& point) const;
  /// Above the largest bound.
  [[nodiscard]] bool is_above(const Point& point) const;
  /// ln of how many times the bound is below the smallest or above the largest; 0 between them.
  [[nodiscard]] double ln_outside(const Point& point) const;
  bool operator==(const Range&) const = default;
};

/// A candidate and what it missed by in cross-validation.
struct CandidateErrors {
  Candidate candidate = Candidate::kRoofline;
  Errors errors;
};

/// The best model of a group of calls.
struct FittedModel {
  CallModel model;
  std::optional<CallModel> beyond;          ///< fitted to the larger half
  std::vector<CandidateErrors> candidates;  ///< the chosen one first
  double width = 0;         ///< ln: the interval is time / e^width … time * e^width
  double width_beyond = 0;  ///< outside of the range
  /// The share of what the card's specification lets no call be faster than, that the fastest row
  /// took; 1 where all took that or longer. A measurement tells more than a data sheet.
  double least_share = 1;
  Range range;
  std::size_t rows = 0;
  std::vector<std::string> operators;  ///< in order of names
  [[nodiscard]] const Errors& errors() const { return candidates.front().errors; }
  /// ln of nanoseconds. Above the range the mean of both models: each errs in its own way.
  [[nodiscard]] double ln_ns(const Point& point) const;
  /// What the largest tenth tells of up to ten times as much grows with ln of what is asked beyond.
  [[nodiscard]] double width_at(const Point& point) const;
};

struct FitOptions {
  std::vector<Candidate> candidates{kOwnCandidates.begin(), kOwnCandidates.end()};
  std::shared_ptr<const SharedModel> shared = nullptr;  ///< adds the transferred kinds
  TreeOptions trees = {};
  std::size_t folds = 4;
  double least_ns = 0;  ///< predictions are never below it
};

/// Fits the candidates in cross-validation whose folds keep equal shapes together, keeps the one of
/// least mean error, and calibrates its intervals: from the folds inside of the range; outside,
/// from the largest tenth predicted by a fit to the rest, times 1.5. At least one sample.
[[nodiscard]] FittedModel fit_best(const Samples& samples, const FitOptions& options);

}  // namespace understudy::predictor
