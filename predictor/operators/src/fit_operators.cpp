#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <utility>

#include "predictor/operators/features.h"
#include "predictor/operators/operator_models.h"

namespace understudy::predictor {
namespace {

constexpr std::size_t kFewestOfTeacher = 300;  // minimum rows to answer for other cards
constexpr std::size_t kFewestOfOperator = 60;  // minimum for a model besides the family's

/// A sample and the call that other cards are asked about.
struct CallSample : Sample {
  const OperatorCall* call = nullptr;
  Work work = {};
};
using CallSamples = std::vector<CallSample*>;

/// Samples of one device, by operator and family.
struct DeviceSamples {
  Card card;
  CountedShares counted;
  std::vector<CallSample> samples;
  std::map<std::string, CallSamples> by_operator;
  std::map<std::string, CallSamples> by_family;
};

/// Returns at most `most` samples, drawn with a fixed seed.
CallSamples drawn(CallSamples samples, std::size_t most) {
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
      CallSample* const sample = &device.samples.emplace_back();
      sample->point = point_of(call->call, work, device.card);
      sample->ln_ns = std::log(call->time().median_ns);
      sample->shape = shape_hash(call->call);
      sample->call = &call->call;
      sample->work = work;
      device.by_operator[sample->point.op].push_back(sample);
      device.by_family[std::string(to_string(family_of(call->call.name)))].push_back(sample);
    }
  }
  return devices;
}

bool is_one_operator(const CallSamples& samples) {
  return std::ranges::all_of(samples, [&](const CallSample* sample) {
    return sample->point.op == samples.front()->point.op;
  });
}

class Fitter {
 public:
  Fitter(std::map<DeviceKey, DeviceSamples> devices, const ModelsOptions& options)
      : devices_(std::move(devices)), options_(options) {
    for (const auto& [key, device] : devices_) {
      total_ += device.by_operator.size() + device.by_family.size();
    }
  }

  /// Cards with many rows of a group are fitted first: others lean on them.
  OperatorModels fit() {
    for (const auto& [key, device] : devices_) {
      models_.add(key, {device.card, device.counted, {}, {}});
    }
    fit_all([](std::size_t rows) { return rows >= kFewestOfTeacher; });
    add_spreads();
    fit_all([](std::size_t rows) { return rows < kFewestOfTeacher; });
    return std::move(models_);
  }

 private:
  void progress(const std::string& what) {
    if (options_.progress) {
      options_.progress(what, done_, total_);
    }
    ++done_;
  }

  FittedModel fit_group(const DeviceKey& key, const std::string& name, const CallSamples& all) {
    progress(fmt::format("{}: {}", key.device, name));
    const CallSamples used = drawn(all, options_.most_rows);
    if (all.size() < kFewestOfTeacher) {
      for (CallSample* sample : used) {
        sample->leaned =
            models_.leaned(*sample->call, sample->work, sample->point, key, devices_.at(key).card);
      }
    }
    FittedModel fitted = fit_best(Samples(used.begin(), used.end()),
                                  {.trees = options_.trees, .least_ns = least_call_ns(key.timed)});
    for (const CallSample* sample : all) {
      fitted.least_share = std::min(fitted.least_share,
                                    std::exp(sample->ln_ns) / least_ns(sample->point, key.timed));
    }
    return fitted;
  }

  /// No card leans on what is fitted in the same pass.
  void fit_all(const std::function<bool(std::size_t rows)>& is_asked) {
    OperatorModels fitted = models_;
    for (const auto& [key, device] : devices_) {
      fitted.add(key, fit_device(key, device, is_asked));
    }
    models_ = std::move(fitted);
  }

  DeviceModels fit_device(const DeviceKey& key, const DeviceSamples& device,
                          const std::function<bool(std::size_t rows)>& is_asked) {
    DeviceModels fitted = models_.devices().at(key);
    for (const auto& [name, samples] : device.by_operator) {
      if (is_asked(samples.size()) && samples.size() >= kFewestOfOperator) {
        fitted.by_operator.emplace(name, fit_group(key, name, samples));
      }
    }
    for (const auto& [name, samples] : device.by_family) {
      // If it is the only one, an operator's model serves the family.
      if (is_asked(samples.size()) &&
          !(fitted.by_operator.contains(samples.front()->point.op) && is_one_operator(samples))) {
        fitted.by_family.emplace(name, fit_group(key, name, samples));
      }
    }
    return fitted;
  }

  /// Each card with many rows of a group is predicted by the others. The spread of the group is the
  /// one with which 90 % of these calls lie in their intervals.
  void add_spreads() {
    constexpr double kLeastSpread = 0.4;  // few cards can be alike by chance
    std::map<std::string, std::vector<double>> groups;
    for (const auto& [key, device] : devices_) {
      for (const auto* named : {&device.by_operator, &device.by_family}) {
        for (const auto& [name, samples] : *named) {
          if (samples.size() >= kFewestOfTeacher) {
            add_spreads_of(key, samples, groups[group_key(key.timed, name)]);
          }
        }
      }
    }
    for (auto& [group, spreads] : groups) {
      if (!spreads.empty()) {
        models_.add(group, std::max(conformal_width(std::move(spreads), kOfTooFew), kLeastSpread));
      }
    }
  }

  void add_spreads_of(const DeviceKey& key, const CallSamples& samples,
                      std::vector<double>& spreads) const {
    constexpr std::size_t kMost = 300;
    constexpr double kAlike = 0.02;
    for (const CallSample* sample : drawn(samples, kMost)) {
      const std::optional<Leaned> leaned =
          models_.leaned(*sample->call, sample->work, sample->point, key, devices_.at(key).card);
      if (leaned && leaned->is_known) {
        const double missed = sample->ln_ns - leaned->ln_ns;
        const double beyond = missed * missed - leaned->own_width * leaned->own_width;
        spreads.push_back(std::sqrt(std::max(beyond, 0.0)) / std::max(leaned->unlike, kAlike));
      }
    }
  }

  std::map<DeviceKey, DeviceSamples> devices_;
  const ModelsOptions& options_;
  OperatorModels models_;
  std::size_t done_ = 0;
  std::size_t total_ = 0;
};

}  // namespace

OperatorModels fit_operator_models(const std::vector<MeasuredCall>& calls,
                                   const std::vector<Card>& cards, const ModelsOptions& options) {
  OperatorModels models = Fitter(samples_by_device(calls, cards, options.host), options).fit();
  for (const Card& card : cards) {
    models.add_card(card);
  }
  return models;
}

}  // namespace understudy::predictor
