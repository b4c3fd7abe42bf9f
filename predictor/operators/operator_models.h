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

/// Key of the models of one device and one kind of time.
struct DeviceKey {
  std::string device;
  int threads = 0;
  TimedAs timed = TimedAs::kTimedCall;
  auto operator<=>(const DeviceKey&) const = default;
};
[[nodiscard]] DeviceKey key_of(const MeasuredCall& call);
/// Returns "cpu, 2 threads, host".
[[nodiscard]] std::string to_string(const DeviceKey& key);

/// A call's time and its 90 % interval.
struct Prediction : Estimate {
  double device_ns = 0;  ///< without the time in which only the host was busy
  double host_ns = 0;    ///< host time of a timed call; 0: unknown
};

/// Samples of one operator or family on one card.
struct CardSamples {
  std::string card;
  std::vector<Sample> samples;
};

/// A model of several cards, for cards that were not measured.
struct SharedFit {
  std::shared_ptr<const SharedModel> model;
  Range range;
  std::vector<std::string> cards;
  std::vector<std::string> operators;
  Errors errors;  ///< all cards, each predicted by a fit to the others
  /// ln, half the 90 % interval, from the same predictions. Wide and narrow cards (SharedModel)
  /// have separate widths, since small boards are harder to predict. If one kind has no cards, its
  /// width is 1.5 times the other's.
  double width = 0;
  double narrow_width = 0;
  [[nodiscard]] double width_at(const Point& point) const;
};
/// Fits a shared model. Needs at least two cards.
[[nodiscard]] SharedFit fit_shared_cards(const std::vector<CardSamples>& cards,
                                         const TreeOptions& trees);

/// A device and its models, by operator ("aten::add.Tensor") and by family.
struct DeviceModels {
  Card card;
  CountedShares counted = {};
  std::map<std::string, FittedModel> by_operator;
  std::map<std::string, FittedModel> by_family;
};

struct ModelsOptions {
  std::vector<Candidate> candidates = FitOptions().candidates;
  std::size_t most_rows = 5000;   ///< maximum rows per group; more are sampled evenly
  TreeOptions trees = {};         ///< for one device; shared models get two thirds of the trees
  std::optional<Card> host = {};  ///< host of the CPU rows; unset: this machine
  std::function<void(const std::string& what, std::size_t done, std::size_t total)> progress = {};
};

/// Models of all operators on all devices of a platform. Immutable after construction: may be
/// called from several threads.
class OperatorModels {
 public:
  /// Predicts a call. A measured device has its own models; other cards use the models that the
  /// measured cards share, with the specification from `cards` or add_card(). A call that no model
  /// covers gets the roofline's bound, with a wide interval and `modelled` false. If a card was not
  /// measured and has no peak for the call's type, `model` names that. Throws Error (usage) if the
  /// device is neither measured nor described. `counters`: the call's own, if it was counted.
  [[nodiscard]] Prediction predict(const OperatorCall& call, const DeviceKey& key,
                                   const et_schema::Counters& counters = {}) const;

  [[nodiscard]] const std::map<DeviceKey, DeviceModels>& devices() const { return devices_; }
  [[nodiscard]] const std::map<std::string, SharedFit>& shared() const { return shared_; }
  [[nodiscard]] const std::vector<Card>& cards() const { return cards_; }
  /// Adds a card to predict for. Replaces a card of the same name.
  void add_card(Card card);
  /// Returns a device's card, described or measured; null if unknown.
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

/// Returns the lower bound of any call's time. Models of few rows of large calls cannot infer it.
[[nodiscard]] double least_call_ns(TimedAs timed);

/// Returns the lower bound of a call's time by the card's specification: the largest of arithmetic,
/// memory and least_call_ns().
[[nodiscard]] double least_ns(const Point& point, const Card& card, TimedAs timed);

/// Returns the key of an operator's or family's shared model.
[[nodiscard]] std::string shared_key(TimedAs timed, std::string_view operator_or_family);

/// Fits models to all measured calls. `cards` describes devices by name; others get peaks from
/// their fastest rows, as Card::source says. Throws Error (usage) if a device's peaks cannot be
/// found.
[[nodiscard]] OperatorModels fit_operator_models(const std::vector<MeasuredCall>& calls,
                                                 const std::vector<Card>& cards,
                                                 const ModelsOptions& options = {});

}  // namespace understudy::predictor
