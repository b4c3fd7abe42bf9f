#include "predictor/operators/operator_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "et_schema/base/error.h"
#include "et_schema/base/interval.h"
#include "et_schema/facts/schema_text.h"

namespace understudy::predictor {
namespace {

constexpr double kUnmodelledFactor = 10;  // factor on the roofline's bound, as for a poor kernel
constexpr double kUnmodelledCallNs = 5000;
constexpr double kCacheFactor = 8;  // maximum speed of a cache relative to memory

/// Returns the operator's name and those of its in-place and functional forms and overloads, whose
/// measurements can stand in.
std::vector<std::string> names_to_try(const std::string& op) {
  std::vector<std::string> names = {op};
  const std::string name(et_schema::without_overload(op));
  const auto add = [&](std::string candidate) {
    if (std::ranges::find(names, candidate) == names.end()) {
      names.push_back(std::move(candidate));
    }
  };
  add(name);
  std::string functional = name;
  if (functional.ends_with('_') && !functional.ends_with("__")) {
    functional.pop_back();
    add(functional + op.substr(name.size()));
    add(functional);
  }
  return names;
}

/// Returns true for PyTorch's operators. The work of other libraries' operators is a guess, because
/// their names are arbitrary.
bool is_of_torch(const Point& point) {
  return point.op.starts_with("aten::") || point.op.find("::") == std::string::npos;
}

struct Width {
  double ln = 0;
  bool is_extrapolated = false;
};

Prediction prediction_of(double ln_ns, const TwoClock* base, const Point& point, Width width,
                         std::string name) {
  Prediction prediction;
  prediction.ns = std::exp(ln_ns);
  prediction.low_ns = prediction.ns * std::exp(-width.ln);
  prediction.high_ns = prediction.ns * std::exp(width.ln);
  prediction.device_ns = prediction.ns;
  if (base != nullptr) {
    const double kernel = kernel_ns(*base, point.kernels.compute_ns, point.kernels.memory_ns);
    prediction.host_ns = base->floor_ns;
    prediction.device_ns *=
        std::min(1.0, kernel / base_ns(*base, point.kernels.compute_ns, point.kernels.memory_ns));
  }
  prediction.model = std::move(name);
  prediction.extrapolated = width.is_extrapolated;
  return prediction;
}

/// Added width if only other operators of the family were measured.
constexpr double kOtherOperatorWidth = 0.7;

/// Raises a prediction to the lower bound. Its upper end is scaled by the same factor, because a
/// prediction below the bound does not justify a narrower interval.
Prediction clipped(Prediction prediction, double least) {
  if (prediction.ns < least) {
    prediction.high_ns *= least / prediction.ns;
    prediction.ns = least;
  }
  prediction.low_ns = std::clamp(prediction.low_ns, least, prediction.ns);
  prediction.high_ns = std::max(prediction.high_ns, prediction.ns);
  prediction.device_ns = std::max(prediction.device_ns, least);
  return prediction;
}

/// `least_ns` is the specification's bound, which is lowered if the model has faster rows.
Prediction ask(const FittedModel& fitted, const Point& point, bool is_known, double least_ns) {
  const double width = fitted.width_at(point);
  const Width used{is_known ? width : et_schema::root_sum_square(width, kOtherOperatorWidth),
                   fitted.range.excludes(point) || !is_known};
  Prediction prediction = prediction_of(fitted.ln_ns(point), fitted.model.host_base(), point, used,
                                        std::string(to_string(fitted.model.kind)));
  prediction.modelled = is_known || is_of_torch(point);
  return clipped(std::move(prediction), fitted.least_share * least_ns);
}

Prediction bound_only(const Point& point, double least_ns) {
  Prediction prediction;
  prediction.low_ns = least_ns;
  prediction.ns = std::max(2 * bound_ns(point), kUnmodelledCallNs);
  prediction.high_ns = kUnmodelledFactor * prediction.ns;
  prediction.device_ns = prediction.ns;
  prediction.model = "roofline bound";
  prediction.extrapolated = true;
  prediction.modelled = false;
  return prediction;
}

/// Marks a prediction whose type has no peak in the specification. Its arithmetic is counted at
/// float32's peak, which tensor cores exceed many times, so the time is rather an upper bound.
Prediction without_peak(Prediction prediction, DType dtype, double least_ns) {
  prediction.low_ns = std::min(prediction.low_ns, least_ns);
  prediction.model += fmt::format(", no peak of {}", to_string(dtype));
  prediction.modelled = false;
  return prediction;
}

}  // namespace

double least_call_ns(TimedAs timed) {
  constexpr double kHostCall = 100;
  constexpr double kKernel = 500;
  constexpr double kTimedCall = 2000;
  switch (timed) {
    case TimedAs::kHost:
      return kHostCall;
    case TimedAs::kDevice:
      return kKernel;
    case TimedAs::kTimedCall:
      break;
  }
  return kTimedCall;
}

double least_ns(const Point& point, const Card& card, TimedAs timed) {
  // Memory bandwidth is no limit if the bytes fit into the cache.
  const double bytes = point.memory_ns * card.bandwidth_bytes_per_s / 1e9;
  const double memory_ns = bytes > card.l2_bytes ? point.memory_ns : point.memory_ns / kCacheFactor;
  return std::max({point.least_compute_ns, memory_ns, least_call_ns(timed)});
}

DeviceKey key_of(const MeasuredCall& call) {
  return {call.device, call.threads, call.timed()};
}

std::string to_string(const DeviceKey& key) {
  const std::string threads =
      key.threads == 0 ? ""
                       : fmt::format(", {} thread{}", key.threads, key.threads == 1 ? "" : "s");
  return fmt::format("{}{}, {}", key.device, threads, to_string(key.timed));
}

std::string shared_key(TimedAs timed, std::string_view operator_or_family) {
  return fmt::format("{} {}", to_string(timed), operator_or_family);
}

void OperatorModels::add_card(Card card) {
  const auto same = std::ranges::find(cards_, card.name, &Card::name);
  if (same == cards_.end()) {
    cards_.push_back(std::move(card));
  } else {
    *same = std::move(card);
  }
}

const Card* OperatorModels::find_card(const std::string& name) const {
  const auto described = std::ranges::find(cards_, name, &Card::name);
  if (described != cards_.end()) {
    return &*described;
  }
  const auto measured =
      std::ranges::find_if(devices_, [&](const auto& entry) { return entry.first.device == name; });
  return measured == devices_.end() ? nullptr : &measured->second.card;
}

std::optional<Prediction> OperatorModels::measured(const Point& point, Family family,
                                                   const DeviceModels& device,
                                                   double least_ns) const {
  for (const std::string& name : names_to_try(point.op)) {
    const auto found = device.by_operator.find(name);
    if (found != device.by_operator.end()) {
      return ask(found->second, point, true, least_ns);
    }
  }
  const auto found = device.by_family.find(std::string(to_string(family)));
  if (found == device.by_family.end()) {
    // If a family has only one measured operator, only that operator has a model.
    const auto only = std::ranges::find_if(device.by_operator, [&](const auto& entry) {
      return family_of(et_schema::without_overload(entry.first)) == family;
    });
    return only == device.by_operator.end()
               ? std::nullopt
               : std::optional(ask(only->second, point, false, least_ns));
  }
  for (const std::string& name : names_to_try(point.op)) {
    if (std::ranges::binary_search(found->second.operators, name)) {
      Point known = point;
      known.op = name;
      return ask(found->second, known, true, least_ns);
    }
  }
  return ask(found->second, point, false, least_ns);
}

std::optional<Prediction> OperatorModels::transferred(const Point& point, Family family,
                                                      const DeviceKey& key) const {
  std::vector<std::string> names = names_to_try(point.op);
  names.emplace_back(to_string(family));
  for (const std::string& name : names) {
    const auto found = shared_.find(shared_key(key.timed, name));
    if (found != shared_.end()) {
      const SharedFit& fit = found->second;
      const bool is_known = std::ranges::binary_search(fit.operators, point.op) ||
                            std::ranges::binary_search(fit.operators, name);
      const double own = fit.width_at(point);
      const double width = is_known ? own : et_schema::root_sum_square(own, kOtherOperatorWidth);
      Prediction prediction = prediction_of(fit.model->ln_ns(point), &fit.model->base_of(point),
                                            point, {width, true}, "other cards");
      prediction.modelled = is_known || is_of_torch(point);
      return prediction;
    }
  }
  return std::nullopt;
}

Prediction OperatorModels::predict(const OperatorCall& call, const DeviceKey& key,
                                   const et_schema::Counters& counters) const {
  const auto device = devices_.find(key);
  const Card* const card = device == devices_.end() ? find_card(key.device) : &device->second.card;
  if (card == nullptr) {
    std::string known;
    for (const auto& [measured_key, unused] : devices_) {
      known += (known.empty() ? "" : "; ") + to_string(measured_key);
    }
    throw et_schema::usage_error(
        "nothing is known of this device",
        {.expected = known.empty() ? "a card's specification" : known,
         .got = to_string(key),
         .hint = "describe it: --card card.json (docs/formats.md, \"Cards\")"});
  }
  const CountedShares none;
  const CountedShares& shares = device == devices_.end() ? none : device->second.counted;
  const Point point = point_of(call, measured_work(call, counters, shares), *card);
  const Family family = family_of(call.name);
  const double least = least_ns(point, *card, key.timed);
  std::optional<Prediction> prediction;
  if (device != devices_.end()) {
    prediction = measured(point, family, device->second, least);
  }
  if (!prediction) {
    prediction = transferred(point, family, key);
    prediction = clipped(prediction ? *std::move(prediction) : bound_only(point, least), least);
    const DType dtype = compute_dtype(call);
    if (!has_peak(*card, dtype) && point.compute_ns > point.memory_ns) {
      prediction = without_peak(*std::move(prediction), dtype, least);
    }
  }
  Prediction answer = *std::move(prediction);
  if (key.timed == TimedAs::kDevice) {
    // Device times include no host, so the fixed part is the device's, too.
    answer.device_ns = answer.ns;
    answer.host_ns = 0;
  }
  return answer;
}

}  // namespace understudy::predictor
