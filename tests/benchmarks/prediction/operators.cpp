// How well models of operators predict what they were not fitted to, on tables of kernels measured
// on several cards (docs/formats.md, "Operator tables", "Cards"):
//   study_operators KERNELS CARDS [random|largest|card|speed] [ROWS] [mlp]
// random: a fifth of the shapes held out; largest: the tenth with the largest bound; card: each
// card predicted from the others, with 0, 20 and 100 calls of its own; speed: 10,000 predictions.
// ROWS of each card and operator are drawn (default: all); mlp adds the seed's kind of model.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "predictor/operators/fitted_model.h"
#include "predictor/operators/operator_models.h"
#include "predictor/rows/measured_files.h"

namespace {

using namespace understudy::predictor;  // NOLINT: a program, no header

constexpr double kPercent = 100;
constexpr std::size_t kFold = 5;

struct CardRows {
  std::string card;
  std::vector<Sample> samples;
};
using Operators = std::map<std::string, std::vector<CardRows>>;

/// Sums of errors over cards.
struct Score {
  double mean = 0, geometric = 0, worst = 0, bias = 0, held = 0, worst_held = 1;
  double last = 0;  ///< of the card that was added last
  int cards = 0;
  void add(const Errors& errors, double share_held = 0) {
    last = errors.mean;
    mean += errors.mean;
    geometric += errors.geometric;
    worst = std::max(worst, errors.worst);
    bias += errors.bias;
    held += share_held;
    worst_held = std::min(worst_held, share_held);
    ++cards;
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("{:.1f} / {:.1f} / {:.0f} / {:+.1f}", kPercent * mean / cards,
                       kPercent * geometric / cards, kPercent * worst, kPercent * bias / cards);
  }
};

Operators read(const std::string& kernels, const std::string& specs, std::size_t most) {
  const std::vector<Card> cards = read_cards(specs);
  std::map<std::string, std::map<std::string, std::vector<MeasuredCall>>> calls;
  for (MeasuredCall& call : read_measured_calls({kernels}).calls) {
    calls[full_name(call.call)][call.device].push_back(std::move(call));
  }
  Operators operators;
  for (auto& [op, by_card] : calls) {
    for (auto& [name, rows] : by_card) {
      std::mt19937_64 engine(7);
      std::shuffle(rows.begin(), rows.end(), engine);
      rows.resize(std::min(rows.size(), most));
      CardRows& own = operators[op].emplace_back();
      own.card = name;
      for (const MeasuredCall& row : rows) {
        const auto card = std::find_if(cards.begin(), cards.end(),
                                       [&](const Card& spec) { return spec.name == row.device; });
        own.samples.push_back({point_of(row.call, *card), std::log(row.median_ns), 0});
      }
    }
  }
  return operators;
}

std::vector<double> residuals(const Samples& samples, const CallModel& model) {
  std::vector<double> all;
  for (const Sample* sample : samples) {
    all.push_back(sample->ln_ns - model.ln_ns(sample->point));
  }
  return all;
}

struct Split {
  Samples known, asked;
};

Split split_random(const std::vector<Sample>& samples) {
  Split split;
  for (const Sample& sample : samples) {
    (sample.point.shape % kFold == 0 ? split.asked : split.known).push_back(&sample);
  }
  return split;
}

Split split_largest(const std::vector<Sample>& samples) {
  Samples sorted;
  for (const Sample& sample : samples) {
    sorted.push_back(&sample);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const Sample* a, const Sample* b) {
    return bound_ns(a->point) < bound_ns(b->point);
  });
  const auto cut = static_cast<std::ptrdiff_t>(sorted.size() - sorted.size() / 10);
  return {Samples(sorted.begin(), sorted.begin() + cut),
          Samples(sorted.begin() + cut, sorted.end())};
}

/// What a fitted model says of samples, and how many its intervals hold.
void judge(const FittedModel& fitted, const Samples& asked, Score& score) {
  std::vector<double> all;
  double held = 0;
  for (const Sample* sample : asked) {
    const double miss = sample->ln_ns - fitted.ln_ns(sample->point);
    held += std::abs(miss) <= fitted.width_at(sample->point) ? 1 : 0;
    all.push_back(miss);
  }
  score.add(errors_of(all), held / static_cast<double>(asked.size()));
}

void study_split(const Operators& operators, Split (*split_of)(const std::vector<Sample>&),
                 bool with_mlp) {
  std::vector<Candidate> candidates = {Candidate::kRoofline, Candidate::kNearest,
                                       Candidate::kTwoClock, Candidate::kTrees};
  if (with_mlp) {
    candidates.push_back(Candidate::kMlp);
  }
  fmt::print("mean / geometric / worst / sign, in %, means over the cards\n");
  for (const auto& [op, cards] : operators) {
    std::map<Candidate, Score> scores;
    Score chosen;
    std::string by_card;
    for (const CardRows& card : cards) {
      const Split split = split_of(card.samples);
      for (const Candidate candidate : candidates) {
        scores[candidate].add(
            errors_of(residuals(split.asked, *fit_model(candidate, split.known))));
      }
      FitOptions options;
      options.candidates = {Candidate::kTwoClock, Candidate::kTrees};
      options.folds = 3;
      judge(fit_best(split.known, options), split.asked, chosen);
      by_card += fmt::format(" {:.1f}", kPercent * chosen.last);
    }
    fmt::print("{:24}", op);
    for (const Candidate candidate : candidates) {
      fmt::print("  {} {}", to_string(candidate), scores[candidate].text());
    }
    fmt::print("  | chosen {} held {:.1f} (least {:.1f}); by card{}\n", chosen.text(),
               kPercent * chosen.held / chosen.cards, kPercent * chosen.worst_held, by_card);
    std::fflush(stdout);
  }
}

/// Calls spread over the sizes, as a calibration draws them, and the rest.
Split few_and_rest(const std::vector<Sample>& samples, std::size_t few) {
  Samples sorted = split_largest(samples).known;
  const Samples largest = split_largest(samples).asked;
  sorted.insert(sorted.end(), largest.begin(), largest.end());
  Split split;
  std::size_t taken = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const bool is_next = few > 0 && taken < few && i >= taken * (sorted.size() - 1) / (few - 1);
    (is_next ? split.known : split.asked).push_back(sorted[i]);
    taken += is_next ? 1U : 0U;
  }
  return split;
}

void study_cards(const Operators& operators) {
  fmt::print(
      "each card from the others: mean / geometric / worst / sign, in %, means over the cards\n");
  const std::size_t counts[] = {0, 1, 20, 100};
  for (const auto& [op, cards] : operators) {
    std::map<std::size_t, Score> scores;
    for (const CardRows& left_out : cards) {
      std::vector<Sample> pooled;
      std::uint32_t number = 0;
      for (const CardRows& card : cards) {
        if (&card == &left_out) {
          continue;
        }
        const std::size_t most = std::min<std::size_t>(card.samples.size(), 1500);
        for (std::size_t i = 0; i < most; ++i) {
          pooled.push_back(card.samples[i]);
          pooled.back().card = number;
        }
        ++number;
      }
      Samples known;
      for (const Sample& sample : pooled) {
        known.push_back(&sample);
      }
      TreeOptions trees;
      trees.trees = 200;
      const auto shared = fit_shared(known, number, trees);
      for (const std::size_t count : counts) {
        Split split = few_and_rest(left_out.samples, count < 2 ? 0 : count);
        if (count == 1) {
          // The smallest call alone: what a host needs.
          split.known = {few_and_rest(left_out.samples, 0).asked.front()};
        }
        if (count == 0) {
          scores[0].add(errors_of(residuals(split.asked, *unmeasured_model(shared))));
          continue;
        }
        FitOptions options;
        options.shared = shared;
        options.candidates = {Candidate::kTwoClock, Candidate::kTrees};
        judge(fit_best(split.known, options), split.asked, scores[count]);
      }
    }
    fmt::print("{:24}", op);
    for (const std::size_t count : counts) {
      fmt::print("  {} calls {} held {:.1f}", count, scores[count].text(),
                 kPercent * scores[count].held / scores[count].cards);
    }
    fmt::print("\n");
    std::fflush(stdout);
  }
}

void study_speed(const std::string& kernels, const std::string& specs) {
  const std::vector<MeasuredCall> all = read_measured_calls({kernels}).calls;
  std::vector<MeasuredCall> calls;
  for (std::size_t i = 0; i < all.size(); i += 1 + all.size() / 20000) {
    calls.push_back(all[i]);
  }
  const OperatorModels models = fit_operator_models(calls, read_cards(specs));
  constexpr std::size_t kPredictions = 10000;
  constexpr int kRounds = 5;
  double least_ms = 1e9;
  double sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::clock_t begin = std::clock();  // of the CPU: neighbours do not count
    for (std::size_t i = 0; i < kPredictions; ++i) {
      const MeasuredCall& call = calls[i % calls.size()];
      sum += models.predict(call.call, key_of(call)).ns;
    }
    constexpr double kMsPerS = 1e3;
    least_ms =
        std::min(least_ms, kMsPerS * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  fmt::print("10,000 predictions of single operators: {:.1f} ms (limit 100), mean {:.0f} ns\n",
             least_ms, sum / kRounds / kPredictions);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 3) {
    fmt::print(stderr,
               "usage: study_operators KERNELS CARDS random|largest|card|speed [ROWS] [mlp]\n");
    return 2;
  }
  const std::string& what = arguments[2];
  if (what == "speed") {
    study_speed(arguments[0], arguments[1]);
    return 0;
  }
  const std::size_t most = arguments.size() > 3 ? std::stoul(arguments[3]) : 1000000;
  const Operators operators = read(arguments[0], arguments[1], most);
  if (what == "card") {
    study_cards(operators);
  } else {
    study_split(operators, what == "largest" ? split_largest : split_random, arguments.size() > 4);
  }
  return 0;
}
