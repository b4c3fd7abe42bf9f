// How well models of operators predict what they were not fitted to, on tables of kernels measured
// on several cards (docs/formats.md, "Operator tables", "Cards"):
//   study_operators KERNELS CARDS random|largest|card|anchor|speed [ROWS] [OPERATOR…]
// random: a fifth of the shapes held out; largest: the tenth with the largest bound; card: each
// card predicted from the others, with 0, 1, 20, 50 and 100 calls of its own, drawn ten times as
// `calibrate` draws them, uniformly in ln of each size; anchor: each call from its time on another
// card, as of a profile (anchored.h); speed: 10,000 predictions. ROWS of each
// card and operator are drawn (default: all); OPERATOR, such as linear, leaves
// out others (default: all). Beside the share that intervals hold stands how far they reach: the
// median over the calls of e^width - 1, in %.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "predictor/calls/measured_files.h"
#include "predictor/operators/anchored.h"
#include "predictor/operators/fitted_model.h"
#include "predictor/operators/operator_models.h"

namespace {

using namespace understudy::predictor;  // NOLINT: a program, no header

constexpr double kPercent = 100;
constexpr std::size_t kFold = 5;

using Operators = std::map<std::string, std::vector<CardSamples>>;

/// How many values the 90 % intervals hold.
struct Held {
  double held = 0, asked = 0;
  void add(bool is_held) {
    held += is_held ? 1 : 0;
    asked += 1;
  }
  [[nodiscard]] double share() const { return asked > 0 ? held / asked : 1; }
};

/// Sums of errors over cards.
struct Score {
  double mean = 0, geometric = 0, worst = 0, bias = 0, held = 0, worst_held = 1;
  double last = 0;      ///< for the card that was added last
  Held inside, beyond;  ///< inside and beyond the range that was measured, all cards together
  std::vector<double> by_card;
  std::vector<double> widths;  ///< ln, for everything that was predicted
  int cards = 0;
  void add(const Errors& errors, double share_held = 0) {
    by_card.push_back(kPercent * errors.mean);
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

/// The arguments after the folders and the kind of study.
struct Asked {
  std::size_t most = 1'000'000;
  std::vector<std::string> operators;
  [[nodiscard]] bool holds(const std::string& op) const {
    return operators.empty() || std::ranges::any_of(operators, [&](const std::string& part) {
             return op.find(part) != std::string::npos;
           });
  }
};

Asked asked_of(const std::vector<std::string>& arguments) {
  Asked asked;
  for (std::size_t i = 3; i < arguments.size(); ++i) {
    const std::string& text = arguments[i];
    if (text.find_first_not_of("0123456789") == std::string::npos) {
      asked.most = std::stoul(text);
    } else {
      asked.operators.push_back(text);
    }
  }
  return asked;
}

Operators read(const std::string& kernels, const std::string& specs, const Asked& asked) {
  const std::vector<Card> cards = read_cards(specs);
  std::map<std::string, std::map<std::string, std::vector<MeasuredCall>>> calls;
  for (MeasuredCall& call : read_measured_calls({kernels}).calls) {
    const std::string op = full_name(call.call);
    if (asked.holds(op)) {
      calls[op][call.device].push_back(std::move(call));
    }
  }
  Operators operators;
  for (auto& [op, by_card] : calls) {
    for (auto& [name, rows] : by_card) {
      std::mt19937_64 engine(7);
      std::shuffle(rows.begin(), rows.end(), engine);
      rows.resize(std::min(rows.size(), asked.most));
      CardSamples& own = operators[op].emplace_back();
      own.card = name;
      for (const MeasuredCall& row : rows) {
        const auto card = std::find_if(cards.begin(), cards.end(),
                                       [&](const Card& spec) { return spec.name == row.device; });
        own.samples.push_back({point_of(row.call, *card), std::log(row.time().median_ns), 0});
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

/// Compares a model with samples, and counts how many its intervals hold.
template <typename Model>
void judge(const Samples& asked, Score& score, const Model& ln_and_width, const Range* range) {
  std::vector<double> all;
  Held held;
  for (const Sample* sample : asked) {
    const auto [ln_ns, width] = ln_and_width(sample->point);
    const double miss = sample->ln_ns - ln_ns;
    held.add(std::abs(miss) <= width);
    score.widths.push_back(width);
    if (range != nullptr) {
      (range->excludes(sample->point) ? score.beyond : score.inside).add(std::abs(miss) <= width);
    }
    all.push_back(miss);
  }
  score.add(errors_of(all), held.share());
}

void judge(const FittedModel& fitted, const Samples& asked, Score& score) {
  judge(
      asked, score,
      [&](const Point& point) { return std::pair(fitted.ln_ns(point), fitted.width_at(point)); },
      &fitted.range);
}

std::string held_text(Score score) {
  std::ranges::sort(score.widths);
  const double width = score.widths.empty() ? 0 : score.widths[score.widths.size() / 2];
  return fmt::format(
      "held {:.1f} within +{:.1f} (least {:.1f}; inside {:.1f}, beyond {:.1f} of {:.0f})",
      kPercent * score.held / score.cards, kPercent * (std::exp(width) - 1),
      kPercent * score.worst_held, kPercent * score.inside.share(), kPercent * score.beyond.share(),
      score.beyond.asked);
}

void study_split(const Operators& operators, Split (*split_of)(const std::vector<Sample>&)) {
  std::vector<Candidate> candidates = {Candidate::kRoofline, Candidate::kNearest,
                                       Candidate::kTwoClock, Candidate::kTrees};
  fmt::print("mean / geometric / worst / sign, in %, means over the cards\n");
  for (const auto& [op, cards] : operators) {
    std::map<Candidate, Score> scores;
    Score chosen;
    std::string by_card;
    for (const CardSamples& card : cards) {
      const Split split = split_of(card.samples);
      for (const Candidate candidate : candidates) {
        scores[candidate].add(errors_of(residuals(split.asked, fit_model(candidate, split.known))));
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
    fmt::print("  | chosen {} {}; by card{}\n", chosen.text(), held_text(chosen), by_card);
    std::fflush(stdout);
  }
}

/// Splits off `count` calls, those nearest to points drawn uniformly in ln of each size, between
/// the sizes at which other cards were measured.
Split drawn(const std::vector<Sample>& samples, std::size_t count, const Range& range,
            std::uint32_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<bool> is_taken(samples.size());
  for (std::size_t draw = 0; draw < std::min(count, samples.size() / 2); ++draw) {
    std::array<float, kSizes> at{};
    for (std::size_t i = 0; i < kSizes; ++i) {
      std::uniform_real_distribution<float> between(range.low[i + 1],
                                                    std::max(range.high[i + 1], range.low[i + 1]));
      at[i] = between(engine);
    }
    std::size_t nearest = samples.size();
    float least = 0;
    for (std::size_t s = 0; s < samples.size(); ++s) {
      float distance = 0;
      for (std::size_t i = 0; i < kSizes; ++i) {
        const float away = samples[s].point.x[kFirstSize + i] - at[i];
        distance += away * away;
      }
      if (!is_taken[s] && (nearest == samples.size() || distance < least)) {
        nearest = s;
        least = distance;
      }
    }
    is_taken[nearest] = true;
  }
  Split split;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    (is_taken[s] ? split.known : split.asked).push_back(&samples[s]);
  }
  return split;
}

/// Splits off the call with the smallest bound.
Split smallest(const std::vector<Sample>& samples) {
  Split split;
  for (const Sample& sample : samples) {
    split.asked.push_back(&sample);
  }
  const auto least = std::ranges::min_element(
      split.asked, {}, [](const Sample* sample) { return bound_ns(sample->point); });
  split.known = {*least};
  split.asked.erase(least);
  return split;
}

void study_card(const std::vector<CardSamples>& cards, const CardSamples& left_out,
                std::map<std::size_t, Score>& scores) {
  constexpr std::uint32_t kDraws = 10;
  constexpr std::size_t kMostOfCard = 1500;
  std::vector<CardSamples> others;
  for (const CardSamples& card : cards) {
    if (&card != &left_out) {
      others.push_back(card);
      others.back().samples.resize(std::min(card.samples.size(), kMostOfCard));
    }
  }
  TreeOptions trees;
  trees.trees = 200;
  const SharedFit shared = fit_shared_cards(others, trees);
  Samples all;
  for (const Sample& sample : left_out.samples) {
    all.push_back(&sample);
  }
  judge(
      all, scores[0],
      [&](const Point& point) {
        return std::pair(shared.model->ln_ns(point), shared.width_at(point));
      },
      nullptr);
  FitOptions options;
  options.shared = shared.model;
  options.candidates = {Candidate::kTwoClock, Candidate::kTrees};
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{20}, std::size_t{50}, std::size_t{100}}) {
    for (std::uint32_t draw = 0; draw < (count > 1 ? kDraws : 1); ++draw) {
      const Split split = count > 1 ? drawn(left_out.samples, count, shared.range, draw)
                                    : smallest(left_out.samples);
      judge(fit_best(split.known, options), split.asked, scores[count]);
    }
  }
}

void study_cards(const Operators& operators) {
  fmt::print(
      "each card from the others: mean / geometric / worst / sign, in %, means over the cards\n");
  for (const auto& [op, cards] : operators) {
    std::map<std::size_t, Score> scores;
    for (const CardSamples& left_out : cards) {
      study_card(cards, left_out, scores);
    }
    fmt::print("{}\n", op);
    for (const auto& [count, score] : scores) {
      fmt::print("  {:3} calls {:28} {}; by card and draw {:.1f}\n", count, score.text(),
                 held_text(score), fmt::join(score.by_card, " "));
    }
    std::fflush(stdout);
  }
}

/// Calls that take this long are hardly longer for the host's part, which these tables include.
constexpr double kLongNs = 200e3;

void study_anchor(const std::string& kernels, const std::string& specs, const Asked& asked) {
  const std::vector<Card> cards = read_cards(specs);
  const std::vector<MeasuredCall> calls = read_measured_calls({kernels}).calls;
  // By operator and sizes, on each card.
  std::map<std::string, std::map<std::uint64_t, std::map<std::string, const MeasuredCall*>>>
      by_call;
  for (const MeasuredCall& call : calls) {
    if (const std::string op = full_name(call.call); asked.holds(op)) {
      by_call[op][point_of(call.call, cards.front()).shape][call.device] = &call;
    }
  }
  fmt::print(
      "each call of at least 0.2 ms from its time on another card, over the pairs of cards: "
      "mean error / worst pair's mean / sum's error, mean and worst, in %\n");
  for (const auto& [op, shapes] : by_call) {
    std::map<std::pair<const Card*, const Card*>, std::array<double, 4>> pairs;
    for (const auto& [key, on] : shapes) {
      for (const Card& here : cards) {
        for (const Card& there : cards) {
          const auto from = on.find(here.name);
          const auto to = on.find(there.name);
          if (&here == &there || from == on.end() || to == on.end() ||
              std::min(from->second->time().median_ns, to->second->time().median_ns) < kLongNs) {
            continue;
          }
          const double ns =
              anchored_time({.call = from->second->call, .ns = from->second->time().median_ns},
                            here, there)
                  .total_ns();
          auto& [count, missed, predicted, measured] = pairs[{&here, &there}];
          count += 1;
          missed += std::abs(ns / to->second->time().median_ns - 1);
          predicted += ns;
          measured += to->second->time().median_ns;
        }
      }
    }
    double mean = 0, worst = 0, sum = 0, worst_sum = 0;
    std::string text;
    for (const auto& [pair, sums] : pairs) {
      const auto& [count, missed, predicted, measured] = sums;
      const double of_pair = kPercent * missed / count;
      const double of_sum = kPercent * (predicted / measured - 1);
      mean += of_pair;
      worst = std::max(worst, of_pair);
      sum += std::abs(of_sum);
      worst_sum = std::max(worst_sum, std::abs(of_sum));
      text += fmt::format("\n    {} -> {}: {} calls, {:.1f}, sum {:+.1f}", pair.first->name,
                          pair.second->name, count, of_pair, of_sum);
    }
    const auto of = static_cast<double>(pairs.size());
    fmt::print("{:24} {:.1f} / {:.1f} / {:.1f}, {:.1f}{}\n", op, mean / of, worst, sum / of,
               worst_sum, text);
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
    // The process's CPU time, so that other programs do not count.
    const std::clock_t begin = std::clock();
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
               "usage: study_operators KERNELS CARDS random|largest|card|anchor|speed [ROWS] "
               "[OPERATOR...]\n");
    return 2;
  }
  const std::string& what = arguments[2];
  if (what == "speed") {
    study_speed(arguments[0], arguments[1]);
    return 0;
  }
  const Asked asked = asked_of(arguments);
  if (what == "anchor") {
    study_anchor(arguments[0], arguments[1], asked);
    return 0;
  }
  const Operators operators = read(arguments[0], arguments[1], asked);
  if (what == "card") {
    study_cards(operators);
  } else {
    study_split(operators, what == "largest" ? split_largest : split_random);
  }
  return 0;
}
