#pragma once

#include <algorithm>
#include <functional>
#include <map>
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

/// A device and its models, by operator ("aten::add.Tensor") and by family.
struct DeviceModels {
  Card card;
  CountedShares counted = {};
  std::map<std::string, FittedModel> by_operator;
  std::map<std::string, FittedModel> by_family;
};

struct ModelsOptions {
  std::size_t most_rows = 12000;  ///< maximum rows per group; more are sampled evenly
  TreeOptions trees = {};
  std::optional<Card> host = {};  ///< host of the CPU rows; unset: this machine
  std::function<void(const std::string& what, std::size_t done, std::size_t total)> progress = {};
};

/// Models of all operators on all devices of a platform. Immutable after construction: may be
/// called from several threads.
class OperatorModels {
 public:
  /// Predicts a call. A measured device has its own models; for other cards the nearest measured
  /// cards answer, with the specification from `cards` or add_card(). A call that no model covers
  /// gets the roofline's bound, with a wide interval and `modelled` false. If a card was not
  /// measured and has no peak for the call's type, `model` names that. Throws Error (usage) if the
  /// device is neither measured nor described. `counters`: the call's own, if it was counted.
  [[nodiscard]] Prediction predict(const OperatorCall& call, const DeviceKey& key,
                                   const et_schema::Counters& counters = {}) const;

  /// Returns what the measured cards that have an own model for it say of a call on `card`; null if
  /// none has. `point` is the call's on `card`. `key` is the card's: it does not answer for itself,
  /// and times are of its kind.
  [[nodiscard]] std::optional<Leaned> leaned(const OperatorCall& call, const Work& work,
                                             const Point& point, const DeviceKey& key,
                                             const Card& card) const;

  [[nodiscard]] const std::map<DeviceKey, DeviceModels>& devices() const { return devices_; }
  /// Errors (ln, 90 %) of cards that are wholly unlike, by group_key().
  [[nodiscard]] const std::map<std::string, double>& spreads() const { return spreads_; }
  [[nodiscard]] const std::vector<Card>& cards() const { return cards_; }
  /// Adds a card to predict for. Replaces a card of the same name.
  void add_card(Card card);
  /// Returns a device's card, described or measured; null if unknown.
  [[nodiscard]] const Card* find_card(const std::string& name) const;

  void add(DeviceKey key, DeviceModels models) {
    devices_.insert_or_assign(std::move(key), std::move(models));
  }
  void add(std::string group, double spread) { spreads_.emplace(std::move(group), spread); }

 private:
  std::map<DeviceKey, DeviceModels> devices_;
  std::map<std::string, double> spreads_;
  std::vector<Card> cards_;
};

/// Returns the lower bound of any call's time. Models of few rows of large calls cannot infer it.
[[nodiscard]] double least_call_ns(TimedAs timed);

/// Returns the lower bound of a call's time by the card's specification, at least least_call_ns().
[[nodiscard]] inline double least_ns(const Point& point, TimedAs timed) {
  return std::max(point.least_ns, least_call_ns(timed));
}

/// Returns the key of the spread of an operator or family.
[[nodiscard]] std::string group_key(TimedAs timed, std::string_view operator_or_family);

/// Fits models to all measured calls. `cards` describes devices by name; others get peaks from
/// their fastest rows, as Card::source says. Throws Error (usage) if a device's peaks cannot be
/// found.
[[nodiscard]] OperatorModels fit_operator_models(const std::vector<MeasuredCall>& calls,
                                                 const std::vector<Card>& cards,
                                                 const ModelsOptions& options = {});

}  // namespace understudy::predictor
