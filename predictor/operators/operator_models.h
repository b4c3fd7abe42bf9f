#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "predictor/calls/call.h"
#include "predictor/calls/card.h"
#include "predictor/calls/costs.h"
#include "predictor/operators/fitted_model.h"

namespace understudy::predictor {

/// What calls take on one device, as one kind of time.
struct DeviceKey {
  std::string device;
  int threads = 0;
  TimedAs timed = TimedAs::kTimedCall;
  auto operator<=>(const DeviceKey&) const = default;
};
[[nodiscard]] DeviceKey key_of(const MeasuredCall& call);
/// "cpu, 2 threads, host".
[[nodiscard]] std::string to_string(const DeviceKey& key);

/// A call's time with the interval that holds 9 of 10.
struct Prediction : Estimate {
  double device_ns = 0;  ///< without the part in which only the host was busy
  double host_ns = 0;    ///< what the host needs for a timed call; 0: not told
};

/// A card's samples of one operator or family.
struct CardSamples {
  std::string card;
  std::vector<Sample> samples;
};

/// A model of several cards, for those that were not measured.
struct SharedFit {
  std::shared_ptr<const SharedModel> model;
  Range range;
  std::vector<std::string> cards;
  std::vector<std::string> operators;
  Errors errors;  ///< of each card by a fit to the others, pooled
  /// ln, half the 90 % interval, found likewise: one of each kind of cards (SharedModel), since
  /// small boards are the harder ones. A kind without cards has half as much again as the
  /// other.
  double width = 0;
  double narrow_width = 0;
  [[nodiscard]] double width_at(const Point& point) const;
};
/// Two cards or more.
[[nodiscard]] SharedFit fit_shared_cards(const std::vector<CardSamples>& cards,
                                         const TreeOptions& trees);

/// A device and its models by operator ("aten::add.Tensor") and by family.
struct DeviceModels {
  Card card;
  std::map<std::string, FittedModel> by_operator;
  std::map<std::string, FittedModel> by_family;
};

struct ModelsOptions {
  std::vector<Candidate> candidates = FitOptions().candidates;
  std::size_t most_rows = 5000;   ///< of a group; more are drawn from evenly
  TreeOptions trees = {};         ///< of one device; two thirds as many are shared by cards
  std::optional<Card> host = {};  ///< that rows of a CPU come from; none: this machine
  std::function<void(const std::string& what, std::size_t done, std::size_t total)> progress = {};
};

/// Models of all operators on all devices of a platform. Immutable once made: calls from several
/// threads are safe.
class OperatorModels {
 public:
  /// Predicts a call. A device that was measured has its own models, any other card models that the
  /// measured ones share; `cards` of the platform or `card` say what it is. What neither covers
  /// gets the bound of the roofline, wide and not `modelled`. Where the card was not measured, and
  /// its specification has no peak of the call's type, `model` says so. Throws Error (usage) for a
  /// device that is neither measured nor described.
  [[nodiscard]] Prediction predict(const OperatorCall& call, const DeviceKey& key) const;

  [[nodiscard]] const std::map<DeviceKey, DeviceModels>& devices() const { return devices_; }
  [[nodiscard]] const std::map<std::string, SharedFit>& shared() const { return shared_; }
  [[nodiscard]] const std::vector<Card>& cards() const { return cards_; }
  /// A card to predict for, in place of one of that name.
  void add_card(Card card);
  /// What is known of a device: described, or found by measuring; null: nothing.
  [[nodiscard]] const Card* find_card(const std::string& name) const;

  void add(DeviceKey key, DeviceModels models) {
    devices_.emplace(std::move(key), std::move(models));
  }
  void add(std::string key, SharedFit fit) { shared_.emplace(std::move(key), std::move(fit)); }

 private:
  [[nodiscard]] std::optional<Prediction> measured(const Point& point, Family family,
                                                   const DeviceModels& device,
                                                   double least_ns) const;
  [[nodiscard]] std::optional<Prediction> transferred(const Point& point, Family family,
                                                      const DeviceKey& key) const;

  std::map<DeviceKey, DeviceModels> devices_;
  std::map<std::string, SharedFit> shared_;  ///< by shared_key()
  std::vector<Card> cards_;
};

/// No call takes less, however small it is: of few rows of large calls no model can tell a floor.
[[nodiscard]] double least_call_ns(TimedAs timed);

/// What the card's specification lets no call be faster than, arithmetic, memory and the call taken
/// together.
[[nodiscard]] double least_ns(const Point& point, const Card& card, TimedAs timed);

/// Under which an operator's, or a family's, shared model is kept.
[[nodiscard]] std::string shared_key(TimedAs timed, std::string_view operator_or_family);

/// Fits models of everything measured. `cards` describes devices by name; one that is not described
/// gets peaks from its own fastest rows, which its card's source says. Throws Error (usage): a row
/// of a device that nothing can be found out of.
[[nodiscard]] OperatorModels fit_operator_models(const std::vector<MeasuredCall>& calls,
                                                 const std::vector<Card>& cards,
                                                 const ModelsOptions& options = {});

}  // namespace understudy::predictor
