// How well models predict times of all-reduce that they were not fitted to: sizes between powers of
// two, and numbers of ranks between 2, 4 and 8. Reads tables of sizes (docs/formats.md, "Collective
// rows"), one for each number of ranks:
//   study_collectives FILE…
// Ends with status 1 if a limit is missed.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/base/read_file.h"
#include "predictor/collectives/models.h"
#include "predictor/collectives/rows.h"
#include "predictor/fitting/errors.h"

namespace {

using namespace understudy::predictor;  // NOLINT: a program, no header
namespace et = understudy::et_schema;
using Rows = std::vector<CollectiveRow>;

constexpr std::int64_t kMiB = 1 << 20;
constexpr double kPercent = 100;

bool is_power_of_two(std::int64_t bytes) {
  return (bytes & (bytes - 1)) == 0;
}

/// round(1.3^k) MiB up to 1 GiB, without the powers of two.
std::set<std::int64_t> ladder() {
  std::set<std::int64_t> sizes;
  for (double step = 1; std::round(step) <= 1024; step *= 1.3) {
    const std::int64_t bytes = std::llround(step) * kMiB;
    if (!is_power_of_two(bytes)) {
      sizes.insert(bytes);
    }
  }
  return sizes;
}

Rows chosen(const Rows& rows, const std::function<bool(const CollectiveRow&)>& is_chosen) {
  Rows result;
  std::ranges::copy_if(rows, std::back_inserter(result), is_chosen);
  return result;
}

struct Outcome {
  Errors errors;
  /// Share of the measurements inside the 90 % interval.
  double held = 0;
};

Outcome judge(const Rows& test, const std::function<Estimate(const CollectiveRow&)>& predict) {
  std::vector<double> predicted;
  std::vector<double> measured;
  double held = 0;
  for (const CollectiveRow& row : test) {
    const Estimate answer = predict(row);
    predicted.push_back(answer.ns);
    measured.push_back(row.median_ns);
    held += answer.low_ns <= row.median_ns && row.median_ns <= answer.high_ns ? 1 : 0;
  }
  return {summarize_errors(predicted, measured), held / static_cast<double>(test.size())};
}

void print(const Outcome& outcome) {
  const Errors& errors = outcome.errors;
  fmt::print("  {:<11} {:5} {:7.2f} {:7.2f} {:7.1f} {:+7.2f} {:6.1f}\n", "", errors.n,
             errors.geometric * kPercent, errors.mean * kPercent, errors.worst * kPercent,
             errors.bias * kPercent, outcome.held * kPercent);
}

void print_title(const std::string& title) {
  fmt::print("\n{}\n  {:<11} {:>5} {:>7} {:>7} {:>7} {:>7} {:>6}\n", title, "errors in %", "n",
             "GMAE", "MAPE", "max", "sign", "held");
}

Outcome judge_ours(const Rows& train, const Rows& test) {
  const CollectiveModels models = fit_collectives(train);
  const Outcome outcome =
      judge(test, [&](const CollectiveRow& row) { return estimate(models, {row}); });
  const Series& series = models.series.front();
  fmt::print("  (steps of the intervals: {:.3f} between sizes, {:.3f} beyond, {:.3f} of ranks)\n",
             series.size_step, series.end_step, series.rank_step);
  return outcome;
}

bool is_within(const char* what, const Outcome& outcome, double geometric, double mean) {
  const bool is_good = outcome.errors.geometric < geometric && outcome.errors.mean < mean;
  fmt::print("  {}: limit {:.2f} / {:.2f} {}\n", what, geometric * kPercent, mean * kPercent,
             is_good ? "held" : "MISSED");
  return is_good;
}

Rows read(int argc, char** argv) {
  Rows rows;
  for (int i = 1; i < argc; ++i) {
    const std::string text = et::read_file(argv[i], et::process_limits());
    const ReadCollectives read = parse_collective_rows(text, argv[i]);
    rows.insert(rows.end(), read.rows.begin(), read.rows.end());
  }
  return rows;
}

bool study_sizes(const Rows& rows) {
  const std::set<std::int64_t> sizes = ladder();
  const Rows train = chosen(rows, [](const auto& row) { return is_power_of_two(row.bytes); });
  const Rows test = chosen(rows, [&](const auto& row) { return sizes.contains(row.bytes); });
  print_title("Sizes between powers of two");
  const Outcome ours = judge_ours(train, test);
  print(ours);
  return is_within("sizes", ours, 0.0098, 0.0188);
}

bool study_ranks(const Rows& rows) {
  const std::set<std::int64_t> sizes = ladder();
  const auto study = [&](const char* title, const std::set<int>& known_ranks,
                         const std::set<int>& asked) {
    const Rows train = chosen(rows, [&](const auto& row) {
      return is_power_of_two(row.bytes) && known_ranks.contains(row.ranks);
    });
    const Rows test = chosen(rows, [&](const auto& row) {
      return (sizes.contains(row.bytes) || is_power_of_two(row.bytes)) && asked.contains(row.ranks);
    });
    print_title(title);
    const Outcome ours = judge_ours(train, test);
    print(ours);
    return ours;
  };
  const Outcome between =
      study("Fitted on 2, 4, 8 ranks, asked for 3, 5, 6, 7", {2, 4, 8}, {3, 5, 6, 7});
  study("Fitted on 2 to 6 ranks, asked for 7, 8", {2, 3, 4, 5, 6}, {7, 8});
  return is_within("ranks", between, 1, 0.029);
}

void study_beyond(const Rows& rows) {
  const auto study = [&](const char* title, std::int64_t low, std::int64_t high) {
    const auto is_known = [&](const auto& row) { return row.bytes >= low && row.bytes <= high; };
    print_title(title);
    const auto is_power = [](const auto& row) { return is_power_of_two(row.bytes); };
    print(
        judge_ours(chosen(rows, [&](const auto& row) { return is_power(row) && is_known(row); }),
                   chosen(rows, [&](const auto& row) { return is_power(row) && !is_known(row); })));
  };
  study("Fitted up to 128 MiB, asked for 256 MiB to 1 GiB", 0, 128 * kMiB);
  study("Fitted from 8 MiB on, asked for 1 to 4 MiB", 8 * kMiB, 1024 * kMiB);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: study_collectives FILE…, a table of sizes each\n", stderr);
    return 2;
  }
  try {
    const Rows rows = read(argc, argv);
    fmt::print("{} rows of {} files\n", rows.size(), argc - 1);
    const bool sizes = study_sizes(rows);
    const bool ranks = study_ranks(rows);
    study_beyond(rows);
    return sizes && ranks ? 0 : 1;
  } catch (const et::Error& error) {
    std::fputs(et::to_text(error).c_str(), stderr);
    return static_cast<int>(error.kind());
  }
}
