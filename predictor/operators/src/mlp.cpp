#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "models.h"

namespace understudy::predictor {
namespace {

using Layer = MlpModel::Layer;
using Scale = MlpModel::Scale;

constexpr std::size_t kHiddenLayers = 3;

std::array<float, MlpModel::kInputs> inputs_of(const Point& point) {
  std::array<float, MlpModel::kInputs> x{};
  std::copy_n(point.x.begin() + kFirstSize, kSizes, x.begin());
  x[kSizes] = point.x[kElementBytesFeature];
  return x;
}

/// y = W x + b, rectified where `is_hidden`.
void forward(const Layer& layer, const float* x, float* y, bool is_hidden) {
  for (std::size_t o = 0; o < layer.out; ++o) {
    const float* const row = &layer.weights[o * layer.in];
    float sum = layer.bias[o];
    for (std::size_t i = 0; i < layer.in; ++i) {
      sum += row[i] * x[i];
    }
    y[o] = is_hidden ? std::max(sum, 0.0F) : sum;
  }
}

Scale scale_of(const std::vector<float>& values) {
  const auto count = static_cast<float>(values.size());
  const float mean = std::accumulate(values.begin(), values.end(), 0.0F) / count;
  float square = 0;
  for (const float value : values) {
    square += (value - mean) * (value - mean);
  }
  constexpr float kConstant = 1e-4F;
  const float deviation = std::sqrt(square / count);
  return {mean, deviation > kConstant ? deviation : 1};
}

/// Adam's state of one list of parameters.
class Adam {
 public:
  explicit Adam(std::size_t size) : mean_(size), square_(size) {}
  void step(std::vector<float>& parameters, std::vector<float>& gradient, float rate, int time) {
    constexpr float kMeanDecay = 0.9F;
    constexpr float kSquareDecay = 0.999F;
    constexpr float kEpsilon = 1e-8F;
    const auto t = static_cast<float>(time);
    const float mean_left = 1 - std::pow(kMeanDecay, t);
    const float square_left = 1 - std::pow(kSquareDecay, t);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      mean_[i] = kMeanDecay * mean_[i] + (1 - kMeanDecay) * gradient[i];
      square_[i] = kSquareDecay * square_[i] + (1 - kSquareDecay) * gradient[i] * gradient[i];
      parameters[i] -=
          rate * (mean_[i] / mean_left) / (std::sqrt(square_[i] / square_left) + kEpsilon);
      gradient[i] = 0;
    }
  }

 private:
  std::vector<float> mean_, square_;
};

struct Trained {
  Layer layer, gradient;
  Adam weights, bias;
};

class Trainer {
 public:
  explicit Trainer(std::mt19937_64& engine) {
    for (std::size_t i = 0; i <= kHiddenLayers; ++i) {
      const std::size_t in = i == 0 ? MlpModel::kInputs : MlpModel::kWidth;
      const std::size_t out = i == kHiddenLayers ? 1 : MlpModel::kWidth;
      Layer layer{in, out, std::vector<float>(in * out), std::vector<float>(out)};
      const Layer zeros = layer;
      // Xavier's range.
      const double range = std::sqrt(6.0 / static_cast<double>(in + out));
      for (float& weight : layer.weights) {
        const double unit = static_cast<double>(engine() >> 11U) * 0x1p-53;
        weight = static_cast<float>((2 * unit - 1) * range);
      }
      layers_.push_back({layer, zeros, Adam(in * out), Adam(out)});
      values_.emplace_back(out);
      errors_.emplace_back(out);
    }
  }

  /// Adds the gradient of half the squared error of one sample.
  void accumulate(const std::array<float, MlpModel::kInputs>& x, float target) {
    const float* in = x.data();
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      forward(layers_[i].layer, in, values_[i].data(), i < kHiddenLayers);
      in = values_[i].data();
    }
    errors_.back()[0] = values_.back()[0] - target;
    for (std::size_t i = layers_.size(); i-- > 0;) {
      backward(i, i == 0 ? x.data() : values_[i - 1].data());
    }
  }

  void step(float rate) {
    ++time_;
    for (Trained& trained : layers_) {
      trained.weights.step(trained.layer.weights, trained.gradient.weights, rate, time_);
      trained.bias.step(trained.layer.bias, trained.gradient.bias, rate, time_);
    }
  }

  [[nodiscard]] std::vector<Layer> layers() const {
    std::vector<Layer> all;
    for (const Trained& trained : layers_) {
      all.push_back(trained.layer);
    }
    return all;
  }

 private:
  void backward(std::size_t index, const float* in) {
    Trained& trained = layers_[index];
    const std::vector<float>& error = errors_[index];
    if (index > 0) {
      std::fill(errors_[index - 1].begin(), errors_[index - 1].end(), 0.0F);
    }
    for (std::size_t o = 0; o < trained.layer.out; ++o) {
      const bool is_off = index < kHiddenLayers && values_[index][o] <= 0;
      if (is_off || error[o] == 0) {
        continue;
      }
      trained.gradient.bias[o] += error[o];
      float* const gradient = &trained.gradient.weights[o * trained.layer.in];
      const float* const row = &trained.layer.weights[o * trained.layer.in];
      for (std::size_t i = 0; i < trained.layer.in; ++i) {
        gradient[i] += error[o] * in[i];
      }
      if (index > 0) {
        for (std::size_t i = 0; i < trained.layer.in; ++i) {
          errors_[index - 1][i] += error[o] * row[i];
        }
      }
    }
  }

  std::vector<Trained> layers_;
  std::vector<std::vector<float>> values_, errors_;
  int time_ = 0;
};

}  // namespace

double MlpModel::ln_ns(const Point& point) const {
  const auto raw = inputs_of(point);
  std::array<float, kWidth> a{};
  std::array<float, kWidth> b{};
  for (std::size_t i = 0; i < raw.size(); ++i) {
    a[i] = (raw[i] - scales_[i].mean) / scales_[i].deviation;
  }
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    forward(layers_[i], a.data(), b.data(), i + 1 < layers_.size());
    std::swap(a, b);
  }
  return static_cast<double>(a[0] * scales_.back().deviation + scales_.back().mean);
}

std::unique_ptr<CallModel> fit_mlp(const Samples& samples) {
  constexpr std::size_t kUpdates = 12000;
  constexpr std::size_t kBatch = 32;
  constexpr double kFirstRate = 2e-3;
  std::vector<std::array<float, MlpModel::kInputs>> rows;
  std::vector<float> target;
  for (const Sample* sample : samples) {
    rows.push_back(inputs_of(sample->point));
    target.push_back(static_cast<float>(sample->ln_ns));
  }
  std::vector<Scale> scales;
  for (std::size_t i = 0; i < MlpModel::kInputs; ++i) {
    std::vector<float> column;
    for (const auto& row : rows) {
      column.push_back(row[i]);
    }
    scales.push_back(scale_of(column));
    for (auto& row : rows) {
      row[i] = (row[i] - scales[i].mean) / scales[i].deviation;
    }
  }
  scales.push_back(scale_of(target));
  std::mt19937_64 engine(1);
  Trainer trainer(engine);
  for (std::size_t update = 0; update < kUpdates; ++update) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      const std::size_t at = engine() % rows.size();
      trainer.accumulate(rows[at], (target[at] - scales.back().mean) / scales.back().deviation);
    }
    const double done = static_cast<double>(update) / static_cast<double>(kUpdates);
    trainer.step(static_cast<float>(kFirstRate * (1 - done)));
  }
  return std::make_unique<MlpModel>(trainer.layers(), std::move(scales));
}

}  // namespace understudy::predictor
