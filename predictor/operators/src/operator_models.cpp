#include "predictor/operators/operator_models.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

#include "et_schema/base/error.h"
#include "et_schema/base/interval.h"
#include "et_schema/base/map_values.h"
#include "et_schema/facts/schema_text.h"
#include "kernel_load.h"
#include "predictor/operators/sustained.h"
#include "predictor/work/sizes.h"

namespace understudy::predictor {
namespace {

constexpr double kUnmodelledFactor = 10;  // factor on the roofline's bound, as for a poor kernel
constexpr double kUnmodelledCallNs = 5000;
constexpr double kMostDoubt = 3;  // an interval above this factor says less than the bytes do

/// Returns the operator's name and those of its in-place and functional forms and overloads, whose
/// measurements can stand in.
std::vector<std::string> names_to_try(const std::string& op) {
  const std::string name(et_schema::without_overload(op));
  std::vector<std::string> names = {op, name};
  if (name.ends_with('_') && !name.ends_with("__")) {
    const std::string functional = name.substr(0, name.size() - 1);
    names.push_back(functional + op.substr(name.size()));
    names.push_back(functional);
  }
  return names;
}

/// Returns true for PyTorch's operators. The work of other libraries' operators is a guess, because
/// their names are arbitrary.
bool is_of_torch(const Point& point) {
  return point.op.starts_with("aten::") || point.op.find("::") == std::string::npos;
}

/// Added width if only other operators of the family were measured.
constexpr double kOtherOperatorWidth = 0.7;

/// A model of a device, and what it is asked for.
struct Found {
  const FittedModel* model = nullptr;
  std::string group;      ///< the operator's or the family's name
  std::string op;         ///< the measured operator that stands for the asked one
  bool is_known = false;  ///< the operator was measured, not only others of its family
};

std::optional<Found> find_model(const DeviceModels& device, const std::string& op, Family family) {
  const std::vector<std::string> names = names_to_try(op);
  for (const std::string& name : names) {
    const auto found = device.by_operator.find(name);
    if (found != device.by_operator.end()) {
      return Found{&found->second, name, op, true};
    }
  }
  const std::string family_name(to_string(family));
  const auto found = device.by_family.find(family_name);
  if (found == device.by_family.end()) {
    // If a family has only one measured operator, only that operator has a model.
    const auto only = std::ranges::find_if(device.by_operator, [&](const auto& entry) {
      return family_of(et_schema::without_overload(entry.first)) == family;
    });
    return only == device.by_operator.end() ? std::nullopt
                                            : std::optional(Found{&only->second, only->first, op});
  }
  for (const std::string& name : names) {
    if (std::ranges::binary_search(found->second.operators, name)) {
      return Found{&found->second, family_name, name, true};
    }
  }
  return Found{&found->second, family_name, op};
}

/// Few rows can know less than nothing does: no interval is wider than without a model.
double width_of(double own, bool is_known) {
  return std::min(is_known ? own : et_schema::root_sum_square(own, kOtherOperatorWidth),
                  std::log(kUnmodelledFactor));
}

Prediction prediction_of(double ln_ns, double width) {
  Prediction prediction{within(std::exp(ln_ns), width)};
  prediction.device_ns = prediction.ns;
  return prediction;
}

/// Returns the share of a timed call in which its kernels run.
double kernel_share(const TwoClock& base, const KernelLoad& load) {
  return std::min(1.0, kernel_ns(base, load.compute_ns, load.memory_ns) /
                           base_ns(base, load.compute_ns, load.memory_ns));
}

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
Prediction ask(const Found& found, Point point, TimedAs timed, const Leaned* leaned,
               double least_ns) {
  const FittedModel& fitted = *found.model;
  point.op = found.op;
  Prediction prediction = prediction_of(fitted.ln_ns(point, timed, leaned),
                                        width_of(fitted.width_at(point, leaned), found.is_known));
  if (leaned == nullptr) {
    prediction.host_ns = fitted.model.base.floor_ns;
    prediction.device_ns *= kernel_share(fitted.model.base, point.kernels);
  } else {
    prediction.host_ns = leaned->host_ns;
    prediction.device_ns = std::max(prediction.ns - leaned->host_ns, 0.0);
  }
  prediction.model = to_string(fitted.model.kind);
  prediction.extrapolated = fitted.rows == 0 || fitted.excludes(point, leaned) || !found.is_known;
  prediction.modelled = found.is_known || is_of_torch(point);
  return clipped(std::move(prediction), fitted.least_share * least_ns);
}

/// Returns ln of the time of a call on another card, from the model found on the card here. That
/// model, asked with the other card's figures, knows waves and tiles, but its rows do not show
/// another cache.
double ln_carried(const Found& found, const Card& from, const Point& here, const Card& to,
                  Point there, double octaves, TimedAs timed) {
  const FittedModel& fitted = *found.model;
  const double call_ns = std::exp(fitted.ln_ns(here, timed));
  const double host_ns = timed == TimedAs::kTimedCall ? fitted.model.base.floor_ns : 0;
  const double ns = call_ns * (host_ns > 0 ? kernel_share(fitted.model.base, here.kernels) : 1);
  const double carried_ns =
      transferred_ns(ns, reached(here.kernels, from), reached(there.kernels, to), from, to);
  const double ln_ns = std::log(call_ns * std::max(carried_ns, host_ns) / std::max(ns, host_ns));
  const double unlike = octaves * octaves / (1 + octaves * octaves);
  const double caches = cache_octaves(from, to);
  const double as_there = unlike * unlike / (1 + caches * caches);
  there.op = found.op;
  return (1 - as_there) * ln_ns + as_there * fitted.ln_ns(there, timed);
}

/// Returns true for kernels that read and write their tensors once, and wait for nothing else.
bool streams(const Work& work, const Point& point) {
  using enum Family;
  constexpr std::array kStreaming = {kNormalization, kSoftmax, kCopy, kReduction, kOptimizer};
  return bytes_of(work) > 0 && (std::ranges::find(kStreaming, work.family) != kStreaming.end() ||
                                (work.family == kElementwise && is_of_torch(point)));
}

/// Returns the time of a streaming kernel by its bytes.
Prediction streamed(const Point& point) {
  constexpr double kWidth = 0.4;
  Prediction prediction{within(kLaunchNs + point.memory_ns / kCopyShare, kWidth)};
  prediction.model = "bytes at the copy rate";
  return prediction;
}

/// Returns the width of an attention's heads, the mean of keys and values, if no power of two;
/// else 0.
double odd_width(const OperatorCall& call) {
  const std::vector<const TensorLayout*> tensors = matrices(call);
  const std::size_t query = has_part(call, "backward") ? 1 : 0;
  if (tensors.size() < query + 3) {
    return 0;
  }
  const double width = (dimension(*tensors[query], 1) + dimension(*tensors[query + 2], 1)) / 2;
  return std::exp2(std::floor(std::log2(width))) == width ? 0 : width;
}

/// Returns the attention with heads of another width.
OperatorCall with_heads(const OperatorCall& call, double width) {
  const double own = dimension(*matrices(call)[has_part(call, "backward") ? 1 : 0], 1);
  const double of_values = dimension(*matrices(call)[has_part(call, "backward") ? 3 : 2], 1);
  OperatorCall other = call;
  for (std::vector<TensorLayout>* const tensors : {&other.inputs, &other.outputs}) {
    for (TensorLayout& tensor : *tensors) {
      const double last = dimension(tensor, 1);
      if (tensor.sizes.size() > 2 && (last == own || last == of_values)) {
        tensor.sizes.back() = static_cast<std::int64_t>(width);
        tensor.strides.clear();
      }
    }
  }
  return other;
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
  return timed == TimedAs::kHost ? kHostCall : timed == TimedAs::kDevice ? kKernel : kTimedCall;
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

std::string group_key(TimedAs timed, std::string_view operator_or_family) {
  return fmt::format("{} {}", to_string(timed), operator_or_family);
}

void OperatorModels::add_card(Card card) {
  std::erase_if(cards_, [&](const Card& known) { return known.name == card.name; });
  cards_.push_back(std::move(card));
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

std::optional<Leaned> OperatorModels::leaned(const OperatorCall& call, const Work& work,
                                             const Point& point, const DeviceKey& key,
                                             const Card& card) const {
  constexpr double kSame = 4e-4;          // so near a card outweighs all others (octaves²)
  constexpr double kHalfUnlike = 0.25;    // octaves
  constexpr double kUnknownSpread = 0.7;  // of one card alone
  Leaned mean;
  std::string group;
  double nearest = std::numeric_limits<double>::infinity();
  double weights = 0;
  double least_call_ns = 0;
  for (const auto& [own, device] : devices_) {
    if (own.device == key.device || own.timed != key.timed || key.timed == TimedAs::kHost) {
      continue;
    }
    const std::optional<Found> found = find_model(device, point.op, work.family);
    if (!found || found->model->model.kind == Candidate::kOtherCards) {
      continue;
    }
    const FittedModel& fitted = *found->model;
    const TwoClock& base = fitted.model.base;
    Point here = point_of(call, work, device.card);
    here.op = found->op;
    const double host_ns = key.timed == TimedAs::kTimedCall ? base.floor_ns : 0;
    const double octaves = octaves_between(device.card, card, compute_dtype(call));
    const double weight = std::pow(octaves * octaves + kSame, -2);
    weights += weight;
    mean.ln_ns += weight * ln_carried(*found, device.card, here, card, point, octaves, key.timed);
    mean.unlike += weight * octaves / (octaves + kHalfUnlike);
    mean.host_ns += weight * host_ns;
    mean.own_width += weight * fitted.width_at(here);
    least_call_ns += weight * std::max(base.floor_ns, base.fixed_ns);
    mean.least_share = std::min(mean.least_share, fitted.least_share);
    if (octaves < nearest) {
      nearest = octaves;
      group = found->group;
      mean.is_known = found->is_known;
      mean.is_extrapolated = fitted.range.excludes(here);
    }
  }
  if (weights == 0) {
    return std::nullopt;
  }
  for (double* const sum : {&mean.ln_ns, &mean.unlike, &mean.host_ns, &mean.own_width}) {
    *sum /= weights;
  }
  mean.shares =
      time_shares(std::exp(mean.ln_ns), least_call_ns / weights, reached(point.kernels, card));
  mean.width =
      width_of(mean, et_schema::value_or(spreads_, group_key(key.timed, group), kUnknownSpread));
  return mean;
}

Prediction OperatorModels::predict(const OperatorCall& call, const DeviceKey& key,
                                   const et_schema::Counters& counters) const {
  const auto device = devices_.find(key);
  const Card* const card = device == devices_.end() ? find_card(key.device) : &device->second.card;
  if (card == nullptr) {
    throw et_schema::usage_error("nothing is known of this device", {.got = to_string(key)});
  }
  const CountedShares none;
  const CountedShares& shares = device == devices_.end() ? none : device->second.counted;
  const Work work = measured_work(call, counters, shares);
  const Point point = point_of(call, work, *card);
  const double least = least_ns(point, key.timed);
  std::optional<Found> own;
  if (device != devices_.end()) {
    own = find_model(device->second, point.op, work.family);
  }
  Prediction answer;
  if (own && own->model->model.kind != Candidate::kOtherCards) {
    answer = ask(*own, point, key.timed, nullptr, least);
  } else {
    const std::optional<Leaned> others = leaned(call, work, point, key, *card);
    if (others && !own) {
      FittedModel uncorrected;
      uncorrected.model.kind = Candidate::kOtherCards;
      answer = ask({&uncorrected, {}, point.op, others->is_known}, point, key.timed, &*others,
                   others->least_share * least);
    } else {
      answer = others ? ask(*own, point, key.timed, &*others, least)
                      : clipped(bound_only(point, least), least);
    }
    const DType dtype = compute_dtype(call);
    if (!own && !has_peak(*card, dtype) && point.compute_ns > point.memory_ns) {
      answer = without_peak(std::move(answer), dtype, least);
    }
  }
  if (const double width = work.attention ? odd_width(call) : 0; width > 0) {
    // Rows of one type alone have such heads. Their times are between those of the sizes beside.
    const double below = std::exp2(std::floor(std::log2(width)));
    const Prediction low = predict(with_heads(call, below), key);
    const Prediction high = predict(with_heads(call, 2 * below), key);
    if (answer.ns < low.ns || answer.ns > high.ns) {
      answer = low;
      static_cast<Estimate&>(answer) =
          scaled(low, std::pow(high.ns / low.ns, std::log2(width / below)));
    }
  }
  if (const double ns = key.timed == TimedAs::kDevice ? ampere_attention_ns(call, work, *card) : 0;
      answer.ns < ns) {
    constexpr double kWidth = 0.14;
    static_cast<Estimate&>(answer) = within(ns, kWidth, "Ampere's instructions");
  }
  const bool is_doubtful = !answer.modelled || answer.high_ns > kMostDoubt * answer.ns;
  if (key.timed == TimedAs::kDevice && is_doubtful && streams(work, point)) {
    answer = streamed(point);
  }
  if (key.timed == TimedAs::kDevice) {
    answer.bound_ns = std::max(bound_ns(point), kLaunchNs);
    // Device times include no host, so the fixed part is the device's, too.
    answer.device_ns = answer.ns;
    answer.host_ns = 0;
  }
  return answer;
}

}  // namespace understudy::predictor
