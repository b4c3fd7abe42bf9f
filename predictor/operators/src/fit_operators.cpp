#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "models.h"
#include "predictor/operators/features.h"
#include "predictor/operators/operator_models.h"

namespace understudy::predictor {
namespace {

constexpr std::size_t kFewestOfSharedCard = 300;  // minimum rows of a card to contribute
constexpr std::size_t kMostOfSharedCard = 1500;
constexpr std::size_t kFewestForOwnModel = kFewestOfSharedCard;  // minimum without shared models
constexpr std::size_t kFewestOfOperator = 60;  // minimum for a model besides the family's

/// Samples of one device, by operator and family.
struct DeviceSamples {
  Card card;
  CountedShares counted;
  std::vector<Sample> samples;
  std::map<std::string, Samples> by_operator;
  std::map<std::string, Samples> by_family;
};

/// Returns at most `most` samples, drawn with a fixed seed.
Samples drawn(Samples samples, std::size_t most) {
  if (samples.size() <= most) {
    return samples;
  }
  std::mt19937_64 engine(1);
  for (std::size_t i = 0; i < most; ++i) {
    std::swap(samples[i], samples[i + engine() % (samples.size() - i)]);
  }
  samples.resize(most);
  return samples;
}

Card card_of(const DeviceKey& key, const std::vector<Card>& cards, const std::optional<Card>& host,
             const std::vector<const MeasuredCall*>& calls) {
  const auto described = std::ranges::find(cards, key.device, &Card::name);
  if (described != cards.end()) {
    return with_measured_peaks(*described, calls);
  }
  Card card;
  if (key.device == "cpu") {
    card = host ? *host : host_card();
  }
  card.name = key.device;
  return with_measured_peaks(std::move(card), calls);
}

std::map<DeviceKey, DeviceSamples> samples_by_device(const std::vector<MeasuredCall>& calls,
                                                     const std::vector<Card>& cards,
                                                     const std::optional<Card>& host) {
  std::map<DeviceKey, std::vector<const MeasuredCall*>> rows;
  for (const MeasuredCall& call : calls) {
    rows[key_of(call)].push_back(&call);
  }
  std::map<DeviceKey, DeviceSamples> devices;
  for (const auto& [key, own] : rows) {
    DeviceSamples& device = devices[key];
    device.card = card_of(key, cards, host, own);
    device.counted = counted_shares(own);
    device.samples.reserve(own.size());
    for (const MeasuredCall* call : own) {
      const Work work = measured_work(call->call, call->counters, device.counted);
      device.samples.push_back(
          {point_of(call->call, work, device.card), std::log(call->time().median_ns), 0});
      const Sample* const sample = &device.samples.back();
      device.by_operator[sample->point.op].push_back(sample);
      device.by_family[std::string(to_string(family_of(call->call.name)))].push_back(sample);
    }
  }
  return devices;
}

/// Pools the samples of all cards except one, with consecutive card numbers.
Samples pooled(const std::vector<CardSamples>& cards, std::optional<std::size_t> left_out,
               std::vector<Sample>& storage) {
  storage.clear();
  std::uint32_t number = 0;
  for (std::size_t card = 0; card < cards.size(); ++card) {
    if (card == left_out) {
      continue;
    }
    for (Sample sample : cards[card].samples) {
      sample.card = number;
      storage.push_back(std::move(sample));
    }
    ++number;
  }
  Samples all;
  for (const Sample& sample : storage) {
    all.push_back(&sample);
  }
  return all;
}

bool is_one_operator(const Samples& samples) {
  return std::ranges::all_of(
      samples, [&](const Sample* sample) { return sample->point.op == samples.front()->point.op; });
}

class Fitter {
 public:
  Fitter(std::map<DeviceKey, DeviceSamples> devices, const ModelsOptions& options)
      : devices_(std::move(devices)), options_(options) {
    for (const auto& [key, device] : devices_) {
      total_ += device.by_operator.size() + device.by_family.size();
    }
    shared_groups_ = shared_groups();
    total_ += shared_groups_.size();
  }

  OperatorModels fit() {
    OperatorModels models;
    TreeOptions shared = options_.trees;
    shared.trees = std::max(2 * shared.trees / 3, 1);
    for (const auto& [name, group] : shared_groups_) {
      progress(name);
      models.add(name, fit_shared_cards(group, shared));
    }
    for (const auto& [key, device] : devices_) {
      models.add(key, fit_device(key, device, models));
    }
    return models;
  }

 private:
  void progress(const std::string& what) {
    if (options_.progress) {
      options_.progress(what, done_, total_);
    }
    ++done_;
  }

  /// Returns the groups for which several cards have enough rows.
  [[nodiscard]] std::map<std::string, std::vector<CardSamples>> shared_groups() const {
    std::map<std::string, std::vector<CardSamples>> groups;
    for (const auto& [key, device] : devices_) {
      if (key.timed == TimedAs::kHost) {
        continue;
      }
      for (const auto* by_name : {&device.by_operator, &device.by_family}) {
        for (const auto& [name, samples] : *by_name) {
          if (samples.size() >= kFewestOfSharedCard) {
            CardSamples& own = groups[shared_key(key.timed, name)].emplace_back();
            own.card = key.device;
            for (const Sample* sample : drawn(samples, kMostOfSharedCard)) {
              own.samples.push_back(*sample);
            }
          }
        }
      }
    }
    std::erase_if(groups, [](const auto& entry) { return entry.second.size() < 2; });
    return groups;
  }

  FittedModel fit_group(const DeviceKey& key, const std::string& name, const Samples& all,
                        const OperatorModels& models) {
    progress(fmt::format("{}: {}", key.device, name));
    FitOptions fit;
    fit.candidates = options_.candidates;
    fit.trees = options_.trees;
    fit.least_ns = least_call_ns(key.timed);
    const auto shared = models.shared().find(shared_key(key.timed, name));
    const bool is_few = all.size() < kFewestForOwnModel;
    if (is_few && shared != models.shared().end()) {
      fit.shared = shared->second.model;
    }
    FittedModel fitted = fit_best(drawn(all, options_.most_rows), fit);
    for (const Sample* sample : all) {
      const double least = least_ns(sample->point, devices_.at(key).card, key.timed);
      fitted.least_share = std::min(fitted.least_share, std::exp(sample->ln_ns) / least);
    }
    return fitted;
  }

  DeviceModels fit_device(const DeviceKey& key, const DeviceSamples& device,
                          const OperatorModels& models) {
    DeviceModels fitted;
    fitted.card = device.card;
    fitted.counted = device.counted;
    for (const auto& [name, samples] : device.by_operator) {
      const bool is_shared = models.shared().contains(shared_key(key.timed, name));
      if (samples.size() >= kFewestOfOperator || is_shared) {
        fitted.by_operator.emplace(name, fit_group(key, name, samples, models));
      } else {
        ++done_;
      }
    }
    for (const auto& [name, samples] : device.by_family) {
      if (fitted.by_operator.contains(samples.front()->point.op) && is_one_operator(samples)) {
        ++done_;  // the operator's model serves the family
        continue;
      }
      fitted.by_family.emplace(name, fit_group(key, name, samples, models));
    }
    return fitted;
  }

  std::map<DeviceKey, DeviceSamples> devices_;
  const ModelsOptions& options_;
  std::map<std::string, std::vector<CardSamples>> shared_groups_;
  std::size_t done_ = 0;
  std::size_t total_ = 0;
};

}  // namespace

double SharedFit::width_at(const Point& point) const {
  return is_narrow(point) ? narrow_width : width;
}

SharedFit fit_shared_cards(const std::vector<CardSamples>& cards, const TreeOptions& trees) {
  constexpr double kLeastWidth = 0.1;  // for an untested card
  constexpr double kOtherKind = 1.5;
  SharedFit fit;
  std::vector<Sample> storage;
  std::vector<double> all_missed;
  std::vector<double> wide_missed;
  std::vector<double> narrow_missed;
  for (std::size_t card = 0; card < cards.size(); ++card) {
    fit.cards.push_back(cards[card].card);
    const auto model = fit_shared(pooled(cards, card, storage), cards.size() - 1, trees);
    for (const Sample& sample : cards[card].samples) {
      all_missed.push_back(sample.ln_ns - model->ln_ns(sample.point));
      (is_narrow(sample.point) ? narrow_missed : wide_missed).push_back(all_missed.back());
    }
  }
  fit.errors = errors_of(all_missed);
  const auto width_of = [&](const std::vector<double>& missed) {
    return std::max(
        missed.empty() ? kOtherKind * conformal_width(all_missed) : conformal_width(missed),
        kLeastWidth);
  };
  fit.width = width_of(wide_missed);
  fit.narrow_width = width_of(narrow_missed);
  const Samples all = pooled(cards, std::nullopt, storage);
  fit.model = fit_shared(all, cards.size(), trees);
  fit.range = Range::of(all);
  fit.operators = operators_of(all);
  return fit;
}

OperatorModels fit_operator_models(const std::vector<MeasuredCall>& calls,
                                   const std::vector<Card>& cards, const ModelsOptions& options) {
  OperatorModels models = Fitter(samples_by_device(calls, cards, options.host), options).fit();
  for (const Card& card : cards) {
    models.add_card(card);
  }
  return models;
}

}  // namespace understudy::predictor
