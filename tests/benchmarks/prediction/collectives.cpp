// How well models predict times of communication that they were not fitted to: sizes between and
// beyond measured ones, random rows, and other numbers of ranks. Reads files of measured
// communication (docs/formats.md, "Collective rows"):
//   study_collectives FILE…
// Each file is a table, but NAME_N.txt: CSV of all-reduce on N GPUs (size in bytes, count, type,
// ns), which count as one. Ends with status 1 if a limit of these is missed.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/base/input_files.h"
#include "predictor/collectives/models.h"
#include "predictor/collectives/rows.h"
#include "predictor/fitting/errors.h"

namespace {

using namespace understudy::predictor;  // NOLINT: a program, no header
namespace et = understudy::et_schema;
using Rows = std::vector<CollectiveRow>;
using Choice = std::function<bool(const CollectiveRow&)>;

constexpr std::int64_t kMiB = 1 << 20;
constexpr double kPercent = 100;

bool is_power_of_two(const CollectiveRow& row) {
  return (row.bytes & (row.bytes - 1)) == 0;
}

int log2_of(const CollectiveRow& row) {
  return static_cast<int>(std::lround(std::log2(static_cast<double>(row.bytes))));
}

/// round(1.3^k) MiB up to 1 GiB.
bool is_on_ladder(const CollectiveRow& row) {
  static const std::set<std::int64_t> sizes = [] {
    std::set<std::int64_t> all;
    for (double step = 1; std::round(step) <= 1024; step *= 1.3) {
      all.insert(std::llround(step) * kMiB);
    }
    return all;
  }();
  return sizes.contains(row.bytes);
}

Rows chosen(const Rows& rows, const Choice& is_chosen) {
  Rows result;
  std::ranges::copy_if(rows, std::back_inserter(result), is_chosen);
  return result;
}

/// Fits to the first rows, predicts the second ones and prints a line.
Errors judge(const std::string& title, const Rows& train, const Rows& test) {
  const CollectiveModels models = fit_collectives(train);
  std::vector<double> residuals;
  std::vector<double> widths;
  double held = 0;
  for (const CollectiveRow& row : test) {
    const Estimate answer = estimate(models, {row});
    residuals.push_back(std::log(row.median_ns / answer.ns));
    widths.push_back(answer.high_ns / answer.ns - 1);
    held += answer.low_ns <= row.median_ns && row.median_ns <= answer.high_ns ? 1 : 0;
  }
  if (test.empty()) {
    return {};
  }
  std::ranges::sort(widths);
  const Errors errors = errors_of(residuals);
  fmt::print("  {:<42} {:5} {:7.2f} {:7.2f} {:7.1f} {:+7.2f} {:6.1f} {:+7.1f}\n", title, errors.n,
             errors.geometric * kPercent, errors.mean * kPercent, errors.worst * kPercent,
             errors.bias * kPercent, held / static_cast<double>(test.size()) * kPercent,
             widths[widths.size() / 2] * kPercent);
  return errors;
}

void print_title(const std::string& title) {
  fmt::print("\n{}\n  {:<42} {:>5} {:>7} {:>7} {:>7} {:>7} {:>6} {:>7}\n", title, "errors in %",
             "n", "GMAE", "MAPE", "max", "sign", "held", "width");
}

/// 1 to 1024 MiB of one kind on 2 to 8 ranks.
bool study_all_reduce(const Rows& rows) {
  print_title("all-reduce");
  const auto is_limit_kept = [](const Errors& errors, double geometric, double mean) {
    const bool is_good = errors.geometric < geometric && errors.mean < mean;
    fmt::print("    limit {:.2f} / {:.2f} {}\n", geometric * kPercent, mean * kPercent,
               is_good ? "held" : "MISSED");
    return is_good;
  };
  const auto ranks = [&](const std::string& title, const std::set<int>& known,
                         const std::set<int>& asked) {
    return judge(
        title,
        chosen(rows,
               [&](const auto& row) { return is_power_of_two(row) && known.contains(row.ranks); }),
        chosen(rows, [&](const auto& row) {
          return (is_on_ladder(row) || is_power_of_two(row)) && asked.contains(row.ranks);
        }));
  };
  const auto beyond = [&](const std::string& title, std::int64_t low, std::int64_t high) {
    const Rows powers = chosen(rows, is_power_of_two);
    const auto is_known = [&](const auto& row) { return row.bytes >= low && row.bytes <= high; };
    judge(title, chosen(powers, is_known), chosen(powers, std::not_fn(is_known)));
  };
  bool is_good = is_limit_kept(
      judge(
          "powers of two -> sizes between", chosen(rows, is_power_of_two),
          chosen(rows, [](const auto& row) { return is_on_ladder(row) && !is_power_of_two(row); })),
      0.0098, 0.0188);
  is_good &= is_limit_kept(ranks("2, 4, 8 ranks -> 3, 5, 6, 7", {2, 4, 8}, {3, 5, 6, 7}), 1, 0.029);
  ranks("2 to 6 ranks -> 7, 8", {2, 3, 4, 5, 6}, {7, 8});
  beyond("up to 128 MiB -> 256 MiB to 1 GiB", 0, 128 * kMiB);
  beyond("from 8 MiB -> 1 to 4 MiB", 8 * kMiB, 1024 * kMiB);
  return is_good;
}

/// All kinds on 2, 4 and 8 ranks, sizes in powers of two.
void study_card(const std::string& name, const Rows& rows) {
  print_title(name);
  const auto study = [&](const std::string& title, const Choice& is_known) {
    judge(title, chosen(rows, is_known), chosen(rows, std::not_fn(is_known)));
  };
  study("every other size", [](const auto& row) { return log2_of(row) % 2 == 1; });
  // A fifth of the rows, by a hash of the call: no pattern of sizes, ranks or kinds.
  study("four of five rows", [](const auto& row) {
    const std::string call = fmt::format("{} {} {} {}", et::to_string(row.kind), row.bytes,
                                         row.ranks, et::to_string(row.dtype));
    return std::hash<std::string>()(call) % 5 != 0;
  });
  study("up to 32 MiB -> 64 to 512", [](const auto& row) { return row.bytes <= 32 * kMiB; });
  study("2, 8 ranks -> 4", [](const auto& row) { return row.ranks != 4; });
  study("2, 4 ranks -> 8", [](const auto& row) { return row.ranks != 8; });
  study("other kinds -> all-gather",
        [](const auto& row) { return row.kind != CommKind::kAllGatherBase; });
}

/// Several nodes: small calls, of latency, and large ones.
void study_nodes(const std::string& name, const Rows& rows) {
  print_title(name);
  constexpr int kFew = 64;
  const Rows few = chosen(rows, [](const auto& row) { return row.ranks <= kFew; });
  for (const CommKind kind : {CommKind::kAllReduce, CommKind::kAllGatherBase}) {
    for (const bool is_small : {true, false}) {
      const auto is_asked = [&](const auto& row) {
        return row.kind == kind && row.ranks > kFew && (row.bytes <= kMiB / 4) == is_small;
      };
      judge(
          fmt::format("64 ranks -> more, {} {}", is_small ? "small" : "large", et::to_string(kind)),
          few, chosen(rows, is_asked));
    }
  }
}

/// Reads the first four columns of an all-reduce table, after its line of titles.
Rows read_all_reduce(const et::InputFile& file) {
  Rows rows;
  const int ranks = std::atoi(file.name.c_str() + file.name.rfind('_') + 1);
  std::istringstream lines(file.data);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    CollectiveRow& row = rows.emplace_back();
    row.kind = CommKind::kAllReduce;
    row.ranks = ranks;
    row.on_device = true;
    long long bytes = 0;
    if (std::sscanf(line.c_str(), "%lld, %*d, %*[^,], %lf", &bytes, &row.median_ns) != 2) {
      throw et::bad_input("not a table of all-reduce", {.file = file.name, .got = line});
    }
    row.bytes = bytes;
  }
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: study_collectives FILE…\n", stderr);
    return 2;
  }
  try {
    Rows all_reduce;
    std::map<std::string, Rows> cards;
    for (int i = 1; i < argc; ++i) {
      et::read_input_files(argv[i], et::process_limits(), [&](et::InputFile&& file) {
        const bool is_all_reduce = file.data.starts_with("size(B)");
        const Rows rows = is_all_reduce ? read_all_reduce(file)
                                        : parse_collective_rows(file.data, file.name).rows;
        Rows& to = is_all_reduce ? all_reduce : cards[argv[i]];
        to.insert(to.end(), rows.begin(), rows.end());
      });
    }
    for (const auto& [name, rows] : cards) {
      (rows.front().nodes > 1 ? study_nodes : study_card)(name, rows);
    }
    return all_reduce.empty() || study_all_reduce(all_reduce) ? 0 : 1;
  } catch (const et::Error& error) {
    std::fputs(et::to_text(error).c_str(), stderr);
    return static_cast<int>(error.kind());
  }
}
