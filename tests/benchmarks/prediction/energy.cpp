// How near energies of calls are predicted, on tables of kernels with measured energies
// (docs/formats.md, "Operator tables"):
//   study_energy TABLES…
// Cards of the tables must have known data sheets. Models are fitted as `calibrate` fits them:
// - own: to four fifths of the shapes of all tables of a card, asked for the last fifth of each
// - other: to the other cards' energies and all times, asked for the same
// - mean power, watts: measured times × the mean power of the card's rows of the table, or of the
//   other card's
// Mean |error| in %, of all calls and of those above 50 µs.

#include "predictor/platform/energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "et_schema/base/file_name.h"
#include "predictor/calls/known_cards.h"
#include "predictor/calls/measured_files.h"
#include "predictor/operators/features.h"

namespace {

using namespace understudy::predictor;  // NOLINT: a program, no header

constexpr double kPercent = 100;
constexpr double kSeconds = 1e-9;

struct Table {
  const Card* card = nullptr;
  std::string name;
  std::vector<MeasuredCall> known, asked;
  double watts = 0;  ///< mean of the known rows
};

double joules_of(const MeasuredCall& call) {
  return call.counters.at(kEnergyCounter);
}

Table read_table(const std::string& file) {
  constexpr std::size_t kFold = 5;
  constexpr std::size_t kMost = 6000;  // rows of a table
  Table table;
  table.name = understudy::et_schema::file_name(file);
  std::vector<MeasuredCall> calls = read_measured_calls({file}).calls;
  table.card = find_known_card(calls.front().device);
  calls.resize(std::min(calls.size(), kMost));
  double joules = 0;
  double seconds = 0;
  for (MeasuredCall& call : calls) {
    const bool is_asked = table.card == nullptr || shape_hash(call.call) % kFold == 0;
    if (!is_asked) {
      joules += joules_of(call);
      seconds += call.time().median_ns * kSeconds;
    }
    (is_asked ? table.asked : table.known).push_back(std::move(call));
  }
  table.watts = joules / std::max(seconds, kSeconds);
  return table;
}

struct Judged {
  std::vector<double> all, large;
  void add(double predicted, const MeasuredCall& call) {
    constexpr double kLargeNs = 50e3;
    const double error = std::abs(predicted / joules_of(call) - 1);
    all.push_back(error);
    if (call.time().median_ns > kLargeNs) {
      large.push_back(error);
    }
  }
  [[nodiscard]] static double mean(const std::vector<double>& errors) {
    double sum = 0;
    for (const double error : errors) {
      sum += error;
    }
    return kPercent * sum / static_cast<double>(std::max<std::size_t>(errors.size(), 1));
  }
};

/// Rows of all cards: energies of one card, or of all others; times of all.
struct Fits {
  OperatorModels times;
  std::map<std::string, EnergyModels> own, other;

  explicit Fits(const std::vector<Table>& tables) {
    std::vector<MeasuredCall> known;
    std::vector<Card> cards;
    for (const Table& table : tables) {
      known.insert(known.end(), table.known.begin(), table.known.end());
      cards.push_back(*table.card);
    }
    times = fit_operator_models(known, cards);
    for (const Card& card : cards) {
      const auto fit = [&](bool is_own, std::map<std::string, EnergyModels>& fits) {
        std::vector<MeasuredCall> rows;
        std::ranges::copy_if(known, std::back_inserter(rows), [&](const MeasuredCall& call) {
          return (call.device == card.name) == is_own;
        });
        if (!fits.contains(card.name)) {
          if (auto energies = fit_energy(rows, cards, {})) {
            fits.emplace(card.name, *std::move(energies));
          }
        }
      };
      fit(true, own);
      fit(false, other);
    }
  }
};

void judge(const Table& table, const std::vector<Table>& tables, const Fits& fits) {
  std::map<std::string, Judged> judged;
  const auto elsewhere = std::ranges::find_if(tables, [&](const Table& other) {
    return other.name == table.name && other.card != table.card;
  });
  for (const MeasuredCall& call : table.asked) {
    const auto ask = [&](const char* name, const std::map<std::string, EnergyModels>& models) {
      const auto found = models.find(table.card->name);
      const auto energy = found == models.end()
                              ? std::nullopt
                              : found->second.predict(call.call, key_of(call), fits.times);
      if (energy) {
        judged[name].add(energy->joules, call);
      }
    };
    ask("own", fits.own);
    ask("other", fits.other);
    const double seconds = call.time().median_ns * kSeconds;
    judged["mean power"].add(seconds * table.watts, call);
    if (elsewhere != tables.end()) {
      judged["watts"].add(seconds * elsewhere->watts, call);
    }
  }
  fmt::print("| {} | {} | {} |", table.card->name, table.name.substr(0, table.name.find('.')),
             table.asked.size());
  for (const char* name : {"own", "other", "mean power", "watts"}) {
    const Judged& rule = judged[name];
    fmt::print(" {:.1f} ({:.1f}) |", Judged::mean(rule.all), Judged::mean(rule.large));
  }
  fmt::print("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Table> tables;
  for (int i = 1; i < argc; ++i) {
    tables.push_back(read_table(argv[i]));
    if (tables.back().card == nullptr) {
      fmt::print(stderr, "no data sheet of the card of {} is known\n", argv[i]);
      return 2;
    }
  }
  if (tables.empty()) {
    fmt::print(stderr, "usage: study_energy TABLES…\n");
    return 2;
  }
  const Fits fits(tables);
  fmt::print("| card | table | calls | own | other | mean power | watts |\n");
  for (const Table& table : tables) {
    judge(table, tables, fits);
  }
  return 0;
}
