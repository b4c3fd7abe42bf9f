#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "predictor/operators/transfer.h"
#include "predictor/operators/trees.h"
#include "predictor/operators/two_clock.h"

namespace understudy::predictor {

/// A measured call in the form that models are fitted to.
struct Sample {
  Point point;
  double ln_ns = 0;
  std::uint64_t shape = 0;            ///< shape_hash(): equal shapes stay in one fold
  std::optional<Leaned> leaned = {};  ///< what other cards say of it
};
using Samples = std::vector<const Sample*>;

/// The kinds of models that compete in a fit.
enum class Candidate : std::uint8_t {
  kTwoClock,   ///< the base of two_clock.h alone
  kTrees,      ///< that base times boosted trees
  kOtherCards  ///< what other cards say, corrected by this card's calls
};
/// Returns the name in files: "two_clock+trees".
[[nodiscard]] std::string_view to_string(Candidate candidate);
[[nodiscard]] std::optional<Candidate> candidate_from_string(std::string_view name);

/// Operator → ln of how much slower it is than its group; a feature if several operators share a
/// model. Unlisted operators count as 0.
using OperatorCodes = std::map<std::string, float>;

/// A fitted model of calls on one card. Fields that its kind does not use are empty.
struct CallModel {
  Candidate kind = Candidate::kTwoClock;
  TwoClock base = {};
  OperatorCodes codes = {};
  Trees trees = {};
  TimeShares correction = {};  ///< kOtherCards: ln of the factor on each share of a time

  /// Returns ln of nanoseconds. `leaned` is needed by kOtherCards only.
  [[nodiscard]] double ln_ns(const Point& point, const Leaned* leaned = nullptr) const;
  [[nodiscard]] double ln_ns(const Sample& sample) const {
    return ln_ns(sample.point, sample.leaned ? &*sample.leaned : nullptr);
  }
};

/// Fits a model of a kind to at least one sample. kOtherCards needs `leaned` of all samples.
[[nodiscard]] CallModel fit_model(Candidate candidate, const Samples& samples,
                                  const TreeOptions& options = {});

}  // namespace understudy::predictor
