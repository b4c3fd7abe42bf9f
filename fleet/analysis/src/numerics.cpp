#include "fleet/analysis/numerics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace understudy::fleet {
namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

constexpr double kFar = std::numeric_limits<double>::infinity();

class Medoids {
 public:
  Medoids(const Columns& columns, const std::vector<double>& weights)
      : weights_(weights), distances_(columns.size(), std::vector<double>(columns.size())) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      for (std::size_t j = 0; j < columns.size(); ++j) {
        double sum = 0;
        for (std::size_t row = 0; row < columns[i].size(); ++row) {
          const double difference = columns[i][row] - columns[j][row];
          sum += difference * difference;
        }
        distances_[i][j] = std::sqrt(sum);
      }
    }
  }

  void build(std::size_t count) {
    while (chosen_.size() < std::min(count, weights_.size())) {
      std::size_t best = 0;
      double best_cost = kFar;
      for (std::size_t candidate = 0; candidate < weights_.size(); ++candidate) {
        if (is_chosen(candidate)) {
          continue;
        }
        chosen_.push_back(candidate);
        if (const double cost = this->cost(); cost < best_cost) {
          best_cost = cost;
          best = candidate;
        }
        chosen_.pop_back();
      }
      chosen_.push_back(best);
    }
  }

  void swap() {
    constexpr double kHelps = 1 - 1e-9;
    double now = cost();
    for (bool helped = true; helped;) {
      helped = false;
      for (std::size_t place = 0; place < chosen_.size(); ++place) {
        for (std::size_t candidate = 0; candidate < weights_.size(); ++candidate) {
          if (is_chosen(candidate)) {
            continue;
          }
          const std::size_t before = chosen_[place];
          chosen_[place] = candidate;
          if (const double with = cost(); with < now * kHelps) {
            now = with;
            helped = true;
          } else {
            chosen_[place] = before;
          }
        }
      }
    }
  }

  std::vector<std::size_t> result() {
    std::ranges::sort(chosen_);
    return chosen_;
  }

 private:
  [[nodiscard]] bool is_chosen(std::size_t place) const {
    return std::ranges::find(chosen_, place) != chosen_.end();
  }
  [[nodiscard]] double cost() const {
    double sum = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      double nearest = kFar;
      for (const std::size_t medoid : chosen_) {
        nearest = std::min(nearest, distances_[i][medoid]);
      }
      sum += weights_[i] * nearest;
    }
    return sum;
  }

  const std::vector<double>& weights_;
  std::vector<std::vector<double>> distances_;
  std::vector<std::size_t> chosen_;
};

}  // namespace

std::vector<double> non_negative_least_squares(const Columns& columns,
                                               const std::vector<double>& target) {
  constexpr int kMostRounds = 20000;
  constexpr double kSettled = 1e-10;
  const std::size_t count = columns.size();
  std::vector<std::vector<double>> products(count, std::vector<double>(count));
  std::vector<double> toward(count);
  for (std::size_t i = 0; i < count; ++i) {
    toward[i] = dot(columns[i], target);
    for (std::size_t j = 0; j < count; ++j) {
      products[i][j] = dot(columns[i], columns[j]);
    }
  }
  std::vector<double> weights(count, 0.0);
  for (int round = 0; round < kMostRounds; ++round) {
    double moved = 0;
    double largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (products[i][i] <= 0) {
        continue;
      }
      const double gradient = dot(products[i], weights) - toward[i];
      const double next = std::max(0.0, weights[i] - gradient / products[i][i]);
      moved = std::max(moved, std::abs(next - weights[i]));
      largest = std::max(largest, next);
      weights[i] = next;
    }
    if (moved <= kSettled * largest) {
      break;
    }
  }
  return weights;
}

double residual_of(const Columns& columns, const std::vector<double>& weights,
                   const std::vector<double>& target) {
  double sum = 0;
  for (std::size_t row = 0; row < target.size(); ++row) {
    double value = -target[row];
    for (std::size_t i = 0; i < columns.size(); ++i) {
      value += weights[i] * columns[i][row];
    }
    sum += value * value;
  }
  return std::sqrt(sum);
}

std::vector<std::size_t> medoids_of(const Columns& columns, const std::vector<double>& weights,
                                    std::size_t count) {
  Medoids medoids(columns, weights);
  medoids.build(count);
  medoids.swap();
  return medoids.result();
}

}  // namespace understudy::fleet
