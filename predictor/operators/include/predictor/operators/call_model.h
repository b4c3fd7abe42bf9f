#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
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
  kMean               ///< the mean, of ln t, of the latter and of two_clock+trees
};
/// "two_clock+trees".
[[nodiscard]] std::string_view to_string(Candidate candidate);
[[nodiscard]] std::optional<Candidate> candidate_from_string(std::string_view name);

/// A fitted model of calls on one card. Immutable: calls from several threads are safe.
class CallModel {
 public:
  CallModel() = default;
  CallModel(const CallModel&) = delete;
  CallModel& operator=(const CallModel&) = delete;
  virtual ~CallModel() = default;

  [[nodiscard]] virtual Candidate kind() const = 0;
  /// ln of nanoseconds.
  [[nodiscard]] virtual double ln_ns(const Point& point) const = 0;
  /// What separates the host's part from the device's; null where the kind has none.
  [[nodiscard]] virtual const TwoClock* base() const { return nullptr; }
  /// {"model":NAME,…}
  [[nodiscard]] virtual nlohmann::ordered_json json() const = 0;
};

/// How much slower than the rest operators are, ln: a feature where several share a model.
class OperatorCodes {
 public:
  /// From residuals of a model that does not know the operator; few rows count less.
  [[nodiscard]] static OperatorCodes of(const Samples& samples,
                                        const std::vector<double>& residuals);
  [[nodiscard]] float operator()(const std::string& op) const;
  [[nodiscard]] bool knows(const std::string& op) const;
  [[nodiscard]] const std::vector<std::pair<std::string, float>>& all() const { return codes_; }
  void add(std::string op, float code);  ///< in order of names

 private:
  std::vector<std::pair<std::string, float>> codes_;
};

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

/// Fits a model of the kind. `shared` is needed by the transferred kinds alone. At least one
/// sample.
[[nodiscard]] std::unique_ptr<CallModel> fit_model(
    Candidate candidate, const Samples& samples,
    const std::shared_ptr<const SharedModel>& shared = nullptr, const TreeOptions& options = {});

}  // namespace understudy::predictor
