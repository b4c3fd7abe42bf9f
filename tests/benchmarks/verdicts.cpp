// How often a night's verdict is right, measured with runs whose truth is known: nights without a
// change, and first nights of a planted change, by its size, the noise and the number of nights it
// is compared with.
//
//     benchmark_verdicts [TRIALS [NIGHTS]]
//
// prints the tables of docs/results/fleet.md. Each run is 40 iterations of a made-up step (matmul
// 60 %, optimizer 25 %); the noise is the standard deviation of every operator in every iteration,
// and of the machine from night to night, of which the speed probe shows one half (in variance). A
// night is judged as `fleet nightly` does: again at once where it differs, with the machine as it
// is that night. First nights are compared with 1 to 5 nights, fewer where NIGHTS leaves fewer
// before them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "fleet/analysis/judge.h"
#include "synthetic.h"

namespace {

using understudy::comparer::kWholeStep;
using understudy::comparer::make_report;
using understudy::comparer::SyntheticNoise;
using understudy::et_schema::Report;
using understudy::fleet::Change;
using understudy::fleet::confirmed;
using understudy::fleet::judge;
using understudy::fleet::Judgement;

constexpr std::size_t kIterations = 40;
constexpr std::size_t kMostBaselines = 5;
constexpr double kPercent = 100;

struct Planted {
  const char* name;
  const char* op_class;
  double share;  ///< of the step
};
constexpr std::array kPlanted = {Planted{"optimizer, 26 % of the step", "optimizer", 0.26},
                                 Planted{"the whole step", kWholeStep, 1}};
constexpr std::array kSizes = {0.03, 0.05, 0.10, 0.25};
constexpr std::array kNoises = {0.004, 0.01, 0.02};

SyntheticNoise noise_of(double spread, bool has_speed_probe) {
  const double half = spread * std::sqrt(0.5);
  return {.machine_spread = half,
          .unseen_spread = half,
          .process_spread = 0.001,
          .sample_spread = spread,
          .drift_spread = 0,
          .drift_memory = 0,
          .interruptions = 0.01,
          .has_speed_probe = has_speed_probe};
}

/// The nights of a job, one after the other.
class Nights {
 public:
  Nights(std::uint64_t seed, const SyntheticNoise& noise) : seed_(seed), noise_(noise) {}

  void start_night() { night_ = ++seed_; }
  Report replay(const char* op_class = "", double slowdown = 1) {
    return make_report({.seed = ++seed_,
                        .iterations = kIterations,
                        .noise = noise_,
                        .slow_class = op_class,
                        .slowdown = slowdown,
                        .night = night_});
  }
  Change judged(const std::vector<Report>& before, const char* op_class = "", double slowdown = 1) {
    last_ = replay(op_class, slowdown);
    Judgement judgement = judge(before, last_);
    if (judgement.change != Change::kNone) {
      last_ = replay(op_class, slowdown);
      judgement = confirmed(judgement, judge(before, last_));
    }
    return judgement.change;
  }
  [[nodiscard]] const Report& last() const { return last_; }

 private:
  std::uint64_t seed_;
  std::uint64_t night_ = 0;
  SyntheticNoise noise_;
  Report last_;
};

/// How many of `trials` first nights of a step that is longer by `size` report the change.
int found(const Planted& planted, double size, const SyntheticNoise& noise, std::size_t baselines,
          int trials) {
  constexpr std::uint64_t kApart = 1000;
  int count = 0;
  for (int trial = 0; trial < trials; ++trial) {
    Nights nights(kApart * static_cast<std::uint64_t>(trial + 1), noise);
    std::vector<Report> before;
    for (std::size_t i = 0; i < baselines; ++i) {
      nights.start_night();
      before.push_back(nights.replay());
    }
    nights.start_night();
    count += nights.judged(before, planted.op_class, 1 + size / planted.share) == Change::kSlower
                 ? 1
                 : 0;
  }
  return count;
}

/// How many of the nights of one job without any change report one. Such a night begins a new
/// level, as in a fleet.
int false_alarms(const SyntheticNoise& noise, int nights_wanted) {
  Nights nights(1, noise);
  std::vector<Report> before;
  int alarms = 0;
  for (int night = 0; night < nights_wanted; ++night) {
    nights.start_night();
    const Change change = before.empty() ? Change::kNone : nights.judged(before);
    const bool is_alarm = change == Change::kSlower || change == Change::kFaster;
    alarms += is_alarm ? 1 : 0;
    if (is_alarm) {
      before.clear();
    }
    before.push_back(night == 0 ? nights.replay() : nights.last());
    if (before.size() > kMostBaselines) {
      before.erase(before.begin());
    }
  }
  return alarms;
}

void print_found(const Planted& planted, bool has_speed_probe, int trials,
                 std::size_t most_baselines) {
  fmt::print("\nFirst nights that told it, of 100: {}, {} speed probe ({} trials each)\n\n",
             planted.name, has_speed_probe ? "with" : "without", trials);
  std::string rule = "| ---: | ---: |";
  fmt::print("| noise | longer by |");
  for (std::size_t baselines = 1; baselines <= most_baselines; ++baselines) {
    fmt::print(" {}{} |", baselines, baselines == 1 ? " night before" : "");
    rule += " ---: |";
  }
  fmt::print("\n{}\n", rule);
  for (const double spread : kNoises) {
    for (const double size : kSizes) {
      fmt::print("| {:.1f} % | {:.0f} % |", kPercent * spread, kPercent * size);
      for (std::size_t baselines = 1; baselines <= most_baselines; ++baselines) {
        const int count =
            found(planted, size, noise_of(spread, has_speed_probe), baselines, trials);
        fmt::print(" {:.0f} |", kPercent * count / trials);
      }
      fmt::print("\n");
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int trials = argc > 1 ? std::atoi(argv[1]) : 100;
  const int nights = argc > 2 ? std::atoi(argv[2]) : 1000;
  const std::size_t most_baselines =
      std::min(kMostBaselines, static_cast<std::size_t>(std::max(nights, 1)) - 1);
  fmt::print("False alarms in {} nights without a change\n\n", nights);
  fmt::print("| noise | with speed probe | without |\n| ---: | ---: | ---: |\n");
  for (const double spread : kNoises) {
    fmt::print("| {:.1f} % | {} | {} |\n", kPercent * spread,
               false_alarms(noise_of(spread, true), nights),
               false_alarms(noise_of(spread, false), nights));
    std::fflush(stdout);
  }
  for (const Planted& planted : kPlanted) {
    for (const bool has_speed_probe : {true, false}) {
      print_found(planted, has_speed_probe, trials, most_baselines);
    }
  }
  return EXIT_SUCCESS;
}
