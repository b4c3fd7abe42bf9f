#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
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
    for (auto& [key, device] : devices_) {
      fit_device(key, device, [](std::size_t rows) { return rows >= kFewestOfTeacher; });
    }
    add_spreads();
    for (auto& [key, device] : devices_) {
      fit_device(key, device, [](std::size_t rows) { return rows < kFewestOfTeacher; });
    }
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

  void fit_device(const DeviceKey& key, const DeviceSamples& device,
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
    models_.add(key, std::move(fitted));
  }

  /// Measures how the error grows with the distance between cards: each card is predicted from each
  /// other one alone.
  void add_spreads() {
    std::map<std::string, Distance> found;
    for (const auto& [from, teacher] : models_.devices()) {
      OperatorModels alone;
      alone.add(from, teacher);
      for (const auto& [key, device] : devices_) {
        if (key.timed != from.timed || key.device == from.device) {
          continue;
        }
        for (const auto* groups : {&device.by_operator, &device.by_family}) {
          for (const auto& [name, samples] : *groups) {
            if (samples.size() >= kFewestOfTeacher) {
              if (const auto distance = distance_of(alone, key, device.card, samples)) {
                Distance& sum = found[group_key(key.timed, name)];
                sum.error += distance->error;
                sum.octaves += distance->octaves;
              }
            }
          }
        }
      }
    }
    for (const auto& [group, sum] : found) {
      if (sum.octaves > 0) {
        models_.add(group, sum.error / sum.octaves);
      }
    }
  }

  /// How far two cards are apart, and the error (ln, 90 %) that this explains.
  struct Distance {
    double error = 0;
    double octaves = 0;
  };
  static std::optional<Distance> distance_of(const OperatorModels& teacher, const DeviceKey& key,
                                             const Card& card, const CallSamples& samples) {
    constexpr std::size_t kMost = 500;
    std::vector<double> missed;
    double widths = 0;
    for (const CallSample* sample : drawn(samples, kMost)) {
      const auto leaned = teacher.leaned(*sample->call, sample->work, sample->point, key, card);
      if (!leaned || !leaned->is_known) {
        return std::nullopt;
      }
      missed.push_back(sample->ln_ns - leaned->ln_ns);
      widths += leaned->own_width;
    }
    const double own = widths / static_cast<double>(missed.size());
    const double all = conformal_width(missed);
    return Distance{std::sqrt(std::max(all * all - own * own, 0.0)),
                    octaves_between(teacher.devices().begin()->second.card, card,
                                    compute_dtype(*samples.front()->call))};
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
