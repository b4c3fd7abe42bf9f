// Whether a model of energy needs the power of each call, on tables of kernels with measured
// energies (docs/formats.md, "Operator tables"):
//   study_energy TABLES…
// The tables must be of one card whose data sheet is known. All models are fitted to four fifths of
// the shapes of all tables, as `calibrate` fits them, and predict the last fifth of each table.
// - each call: the model of Understudy (energy.h), fitted to the energies of calls
// - card: predicted time × mean power of all rows
// - class: predicted time × mean power of the class's rows
// - parts: predicted time × idle power + FLOP × J per FLOP + bytes × J per byte, fitted by class
// In brackets the same with the measured time in place of the predicted one.

#include "predictor/platform/energy.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "et_schema/base/file_name.h"
#include "et_schema/model/op_class.h"
#include "predictor/calls/known_cards.h"
#include "predictor/calls/measured_files.h"
#include "predictor/fitting/least_squares.h"
#include "predictor/operators/features.h"
#include "predictor/operators/work.h"

namespace {

using namespace understudy::predictor;  // NOLINT: a program, no header

constexpr std::size_t kFold = 5;
constexpr double kPercent = 100;
constexpr double kSeconds = 1e-9;

struct Split {
  std::string name;
  std::vector<MeasuredCall> known, asked;
};

double joules_of(const MeasuredCall& call) {
  return call.counters.at(kEnergyCounter);
}

double seconds_of(const MeasuredCall& call) {
  return call.time().median_ns * kSeconds;
}

std::string class_of(const MeasuredCall& call) {
  return std::string(understudy::et_schema::op_class(call.call.name));
}

/// Power by time, all rows together.
struct MeanPower {
  double joules = 0, seconds = 0;
  void add(const MeasuredCall& call) {
    joules += joules_of(call);
    seconds += seconds_of(call);
  }
  [[nodiscard]] double watts() const { return joules / seconds; }
};

/// Microseconds, GFLOP and MB: numbers of similar size for least squares.
std::vector<double> parts_of(const MeasuredCall& call, double seconds) {
  const Work work = work_of(call.call);
  return {seconds * 1e6, work.flops * 1e-9, bytes_of(work) * 1e-6};
}

/// The simple models.
struct Powers {
  MeanPower card;
  std::map<std::string, MeanPower> by_class;
  std::map<std::string, std::vector<double>> parts;

  explicit Powers(const std::vector<MeasuredCall>& known) {
    std::map<std::string, DesignMatrix> rows;
    std::map<std::string, std::vector<double>> joules;
    for (const MeasuredCall& call : known) {
      card.add(call);
      by_class[class_of(call)].add(call);
      rows[class_of(call)].push_back(parts_of(call, seconds_of(call)));
      joules[class_of(call)].push_back(joules_of(call));
    }
    for (const auto& [name, matrix] : rows) {
      parts[name] = relative_least_squares(matrix, joules.at(name));
    }
  }

  /// Returns the joules of each simple model for a call of this time.
  [[nodiscard]] std::array<double, 3> joules(const MeasuredCall& call, double seconds) const {
    const std::vector<double> x = parts_of(call, seconds);
    const std::vector<double>& c = parts.at(class_of(call));
    return {seconds * card.watts(), seconds * by_class.at(class_of(call)).watts(),
            x[0] * c[0] + x[1] * c[1] + x[2] * c[2]};
  }
};

Split split_of(const std::string& file, const Card& card) {
  Split split;
  split.name = understudy::et_schema::file_name(file);
  for (MeasuredCall& call : read_measured_calls({file}).calls) {
    const bool is_asked = point_of(call.call, card).shape % kFold == 0;
    (is_asked ? split.asked : split.known).push_back(std::move(call));
  }
  return split;
}

struct Judged {
  std::vector<double> truth, predicted;
  [[nodiscard]] double mape() const { return kPercent * summarize_errors(predicted, truth).mean; }
};

void judge(const Split& split, const Powers& powers, const OperatorModels& times,
           const EnergyModels& energies) {
  Judged time;
  Judged each_call;
  std::array<Judged, 3> simple;
  std::array<Judged, 3> of_known_time;
  for (const MeasuredCall& call : split.asked) {
    const double seconds = times.predict(call.call, key_of(call)).ns * kSeconds;
    time.truth.push_back(seconds_of(call));
    time.predicted.push_back(seconds);
    each_call.truth.push_back(joules_of(call));
    each_call.predicted.push_back(energies.predict(call.call, key_of(call), times)->joules);
    const auto predicted = powers.joules(call, seconds);
    const auto known = powers.joules(call, seconds_of(call));
    for (std::size_t i = 0; i < simple.size(); ++i) {
      simple[i].truth.push_back(joules_of(call));
      simple[i].predicted.push_back(predicted[i]);
      of_known_time[i].truth.push_back(joules_of(call));
      of_known_time[i].predicted.push_back(known[i]);
    }
  }
  fmt::print("| {} | {} | {} | {:.1f} | {:.1f} |", split.asked.front().device, split.name,
             split.asked.size(), time.mape(), each_call.mape());
  for (std::size_t i = 0; i < simple.size(); ++i) {
    fmt::print(" {:.1f} ({:.1f}) |", simple[i].mape(), of_known_time[i].mape());
  }
  fmt::print("\n");
  std::fflush(stdout);
}

void study(const std::vector<std::string>& files) {
  const std::string device = read_measured_calls({files.front()}).calls.front().device;
  const Card* const card = find_known_card(device);
  if (card == nullptr) {
    fmt::print(stderr, "no data sheet of {} is known\n", device);
    return;
  }
  std::vector<Split> splits;
  std::vector<MeasuredCall> known;
  for (const std::string& file : files) {
    splits.push_back(split_of(file, *card));
    known.insert(known.end(), splits.back().known.begin(), splits.back().known.end());
  }
  const Powers powers(known);
  const OperatorModels times = fit_operator_models(known, {*card});
  const auto energies = fit_energy(known, {*card}, {});
  fmt::print("| card | table | calls | time | each call | card | class | parts |\n");
  for (const Split& split : splits) {
    judge(split, powers, times, *energies);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> files(argv + 1, argv + argc);
  if (files.empty()) {
    fmt::print(stderr, "usage: study_energy TABLES…\n");
    return 2;
  }
  study(files);
  return 0;
}
