// How well models of operators predict calls that they were not fitted to, on tables of kernels
// measured on several cards (docs/formats.md, "Operator tables", "Cards"):
//   study_operators DATA CARDS [speed] [--kinds A,…] [--cards A,…] [--scenarios A,…] [--rows N]
//                   [--format text|json]
// DATA has a folder of tables for each card, of which NAME.csv.gz is the kind NAME. At most N rows
// (2,000) of a card and kind are used, chosen by a hash of the shape, except for `own`. Scenarios:
// - own: fitted to four fifths of the card's shapes, asked for the others
// - nothing: fitted to the other cards only, asked for all rows of this one
// - 20 calls: the same with 20 calls of the card; mean over three draws
// - sister: fitted to the nearest card (octaves_between()) only
// Beside them, for calls above 50 µs:
// - roofline: the bound × the other cards' median of measured ÷ bound
// - unscaled: the sister's time of the same shape; anchored: scaled as a profile's (anchored.h)
// - noise: two collections of one card, energy_NAME.csv.gz against NAME.csv.gz; mean |ln ratio|
// speed: fits all kinds, and times 10,000 predictions.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/base/error.h"
#include "operator_rows.h"
#include "predictor/fitting/errors.h"
#include "predictor/operators/operator_models.h"

namespace {

using namespace understudy::predictor;  // NOLINT: a program, no header
using namespace operator_study;         // NOLINT
namespace et = understudy::et_schema;
using Json = nlohmann::ordered_json;

using Calls = std::vector<MeasuredCall>;
constexpr std::uint64_t kDraws = 3;
constexpr std::size_t kOwnCalls = 20;
constexpr std::uint64_t kFold = 5;

struct Asked {
  std::string data, cards;
  bool is_speed = false;
  std::map<std::string, std::string> flags = {{"--kinds", ""},
                                              {"--cards", ""},
                                              {"--scenarios", ""},
                                              {"--rows", "2000"},
                                              {"--format", "text"}};
  /// Returns true if a flag's list has the name, or is empty.
  [[nodiscard]] bool wants(const std::string& flag, const std::string& name) const {
    const std::string& list = flags.at(flag);
    return list.empty() || ("," + list + ",").find("," + name + ",") != std::string::npos;
  }
  [[nodiscard]] bool is_json() const { return flags.at("--format") == "json"; }
  [[nodiscard]] std::vector<CardRows> read(const std::string& kind,
                                           const std::vector<Card>& known) const {
    return wants("--kinds", kind) ? read_kind(data, kind, std::stoul(flags.at("--rows")), known)
                                  : std::vector<CardRows>();
  }
};

void add(Calls& calls, const Rows& rows) {
  for (const Row& row : rows) {
    calls.push_back(row.measured);
  }
}

/// Returns the figures of predictions, shares in %.
Json judge(const OperatorModels& models, const std::vector<const Row*>& asked) {
  std::vector<double> missed, large, widths;
  double predicted_sum = 0, sum = 0, held = 0;
  for (const Row* const row : asked) {
    const Prediction answer = models.predict(row->measured.call, key_of(row->measured));
    missed.push_back(std::log(row->ns() / answer.ns));
    if (row->ns() > kLargeNs) {
      large.push_back(missed.back());
    }
    predicted_sum += answer.ns;
    sum += row->ns();
    held += answer.low_ns <= row->ns() && row->ns() <= answer.high_ns ? 1 : 0;
    widths.push_back(std::sqrt(answer.high_ns / answer.low_ns) - 1);
  }
  std::ranges::sort(widths);
  const auto count = static_cast<double>(asked.size());
  return {{"asked", count},
          {"mape", kPercent * errors_of(missed).mean},
          {"large", large.size()},
          {"large_mape", kPercent * errors_of(large).mean},
          {"sum", kPercent * (predicted_sum / sum - 1)},
          {"held", kPercent * held / count},
          {"half_width", kPercent * widths[widths.size() / 2]}};
}

struct Split {
  Calls known;
  std::vector<const Row*> asked;
};

/// Adds the rows for which `is_known` holds to the known calls, and asks for the others.
template <typename IsKnown>
Split split(Calls known, const Rows& rows, const IsKnown& is_known) {
  Split result{std::move(known), {}};
  for (const Row& row : rows) {
    if (is_known(row)) {
      result.known.push_back(row.measured);
    } else {
      result.asked.push_back(&row);
    }
  }
  return result;
}

/// Returns the splits of a scenario; none if no other card has rows of the kind.
std::vector<Split> splits_of(const std::string& scenario, const CardRows& card,
                             const std::vector<CardRows>& all, const CardRows* sister) {
  const auto none = [](const Row&) { return false; };
  if (scenario == "own") {
    return {split({}, card.all, [](const Row& row) { return row.hash(1) % kFold != 0; })};
  }
  Calls others;
  for (const CardRows& other : all) {
    if (&other != &card && (scenario != "sister" || &other == sister)) {
      add(others, other.rows);
    }
  }
  if (others.empty()) {
    return {};
  }
  if (scenario != "20 calls") {
    return {split(std::move(others), card.rows, none)};
  }
  std::vector<Split> draws;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    std::vector<std::uint64_t> hashes;
    for (const Row& row : card.rows) {
      hashes.push_back(row.hash(2 + draw));
    }
    std::ranges::sort(hashes);
    const std::uint64_t limit = hashes[std::min(kOwnCalls, hashes.size() - 1)];
    draws.push_back(
        split(others, card.rows, [&](const Row& row) { return row.hash(2 + draw) < limit; }));
  }
  return draws;
}

/// Adds the mean figures of all splits to `row`.
void add_scores(const std::vector<Split>& splits, const std::vector<Card>& cards, Json& row) {
  for (const Split& one : splits) {
    const Json score = judge(fit_operator_models(one.known, cards), one.asked);
    for (const auto& [name, figure] : score.items()) {
      row[name] = row.value(name, 0.0) + figure.get<double>() / static_cast<double>(splits.size());
    }
  }
}

void print(const Asked& asked, const Json& row) {
  if (asked.is_json()) {
    return;
  }
  std::string text;
  for (const auto& [key, value] : row.items()) {
    text += value.is_string()   ? fmt::format("{:<11}", value.get<std::string>())
            : value.is_number() ? fmt::format(" {} {:.1f}", key, value.get<double>())
                                : fmt::format(" {} –", key);
  }
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

void study(const Asked& asked, const std::vector<Card>& cards, Json& document) {
  for (const std::string& kind : kinds_of(asked.data)) {
    const std::vector<CardRows> all = asked.read(kind, cards);
    for (const CardRows& card : all) {
      if (!asked.wants("--cards", card.folder)) {
        continue;
      }
      const CardRows* const sister = sister_of(card, all);
      for (const std::string scenario : {"own", "nothing", "20 calls", "sister"}) {
        if (!asked.wants("--scenarios", scenario)) {
          continue;
        }
        const std::vector<Split> splits = splits_of(scenario, card, all, sister);
        if (splits.empty()) {
          continue;
        }
        const std::clock_t begin = std::clock();
        Json row = {{"kind", kind}, {"card", card.folder}, {"scenario", scenario}};
        add_scores(splits, cards, row);
        fmt::print(stderr, "{} {} {}: {:.1f} s of a processor\n", kind, card.folder, scenario,
                   static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
        print(asked, row);
        document["scenarios"].push_back(row);
      }
      Json row = {{"kind", kind}, {"card", card.folder}};
      row["sister"] = sister == nullptr ? "" : sister->folder;
      for (const auto& [name, figure] : baselines_of(card, all, sister)) {
        row[name] = figure ? Json(*figure) : Json();
      }
      print(asked, row);
      document["baselines"].push_back(row);
    }
  }
}

void study_speed(const Asked& asked, const std::vector<Card>& cards) {
  Calls calls;
  for (const std::string& kind : kinds_of(asked.data)) {
    for (const CardRows& card : asked.read(kind, cards)) {
      add(calls, card.rows);
    }
  }
  const OperatorModels models = fit_operator_models(calls, cards);
  constexpr std::size_t kPredictions = 10000;
  constexpr double kMsPerS = 1e3;
  double least_ms = std::numeric_limits<double>::max();
  double sum = 0;
  for (int round = 0; round < 5; ++round) {
    // The process's CPU time, so that other programs do not count.
    const std::clock_t begin = std::clock();
    for (std::size_t i = 0; i < kPredictions; ++i) {
      const MeasuredCall& call = calls[i * calls.size() / kPredictions];
      sum += models.predict(call.call, key_of(call)).ns;
    }
    least_ms =
        std::min(least_ms, kMsPerS * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  fmt::print("10,000 predictions of single operators: {:.1f} ms (limit 100), sum {:.0f} ns\n",
             least_ms, sum);
}

/// Returns what the command line asks for; unset if it is wrong.
std::optional<Asked> asked_of(std::vector<std::string> words) {
  if (words.size() < 2) {
    return std::nullopt;
  }
  Asked asked{
      .data = words[0], .cards = words[1], .is_speed = words.size() > 2 && words[2] == "speed"};
  for (std::size_t i = asked.is_speed ? 3 : 2; i < words.size(); i += 2) {
    if (!asked.flags.contains(words[i]) || i + 1 == words.size()) {
      return std::nullopt;
    }
    asked.flags[words[i]] = words[i + 1];
  }
  return asked;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Asked> asked = asked_of({argv + 1, argv + argc});
  if (!asked) {
    fmt::print(stderr,
               "usage: study_operators DATA CARDS [speed] [--kinds A,…] [--cards A,…]\n"
               "                       [--scenarios A,…] [--rows N] [--format text|json]\n");
    return 2;
  }
  try {
    const std::vector<Card> cards = read_cards(asked->cards);
    Json document = {{"rows", asked->flags.at("--rows")},
                     {"scenarios", Json::array()},
                     {"baselines", Json::array()}};
    if (asked->is_speed) {
      study_speed(*asked, cards);
    } else {
      study(*asked, cards, document);
    }
    if (asked->is_json()) {
      fmt::print("{}\n", document.dump(1));
    }
    return 0;
  } catch (const et::Error& error) {
    fmt::print(stderr, "{}", et::to_text(error));
    return static_cast<int>(error.kind());
  }
}
