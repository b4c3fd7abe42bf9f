// How far a benchmark that is made of a profile alone agrees with that of the trace of the same
// step: operators, their arguments, the data flow between them, memory.
//
//     benchmark_profile_import [--json] [--worst N] CAPTURE...
//     benchmark_profile_import --self CAPTURE...
//
// A capture is a folder that `scripts/capture --shapes` wrote. Prints the tables of
// docs/results/profile_import.md, and below them what disagrees most often. With --self the trace
// is compared with itself, which the status tells: 1 unless all of it agrees.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agreement.h"
#include "cli/common/progress.h"
#include "cli/compile/compile.h"
#include "et_schema/base/error.h"
#include "et_schema/base/json_text.h"
#include "generator/job/generate.h"

namespace {

using namespace understudy;  // NOLINT(google-build-using-namespace)

constexpr double kPercent = 100;
constexpr double kMega = 1e6;
constexpr std::size_t kUsuallyShown = 20;

/// The traces of all ranks, and the benchmark that was made of them.
struct Made {
  std::vector<et_schema::Trace> traces;
  et_schema::Bench bench;
};

Made made_of(const std::vector<std::string>& paths) {
  cli::Progress progress;
  progress.silence();
  cli::JobTraces job = cli::read_job(paths, "");
  const std::vector<generator::Link> links = cli::link_profiles(paths, job, {}, {}, progress);
  et_schema::Bench bench = generator::generate(job.set.traces, {}, links);
  return {std::move(job.set.traces), std::move(bench)};
}

/// The profiles of the traced step, one a rank.
std::vector<std::string> profiles_of(const std::string& folder, std::size_t ranks) {
  std::vector<std::string> paths;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    paths.push_back(fmt::format("{}/rank-{}.kineto.json.gz", folder, rank));
  }
  return paths;
}

std::string name_of(const std::string& folder) {
  const std::filesystem::path path(folder);
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

Agreement compare(const Made& truth, const Made& made) {
  if (truth.bench.programs.size() != made.bench.programs.size()) {
    throw et_schema::bad_input("traces and profiles of as many ranks are compared",
                               {.field = "CAPTURE",
                                .expected = fmt::format("{} ranks", truth.bench.programs.size()),
                                .got = std::to_string(made.bench.programs.size())});
  }
  Agreement sum;
  for (std::size_t rank = 0; rank < truth.bench.programs.size(); ++rank) {
    sum.add(agreement_of({truth.traces[rank], truth.bench.programs[rank]},
                         {made.traces[rank], made.bench.programs[rank]}));
  }
  return sum;
}

std::string percent(const Share& share) {
  return share.all == 0 ? "–"
                        : fmt::format("{:.1f}", kPercent * static_cast<double>(share.agree) /
                                                    static_cast<double>(share.all));
}

double megabytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / kMega;
}

void print_operators(const std::vector<std::pair<std::string, Agreement>>& rows) {
  fmt::print(
      "| sample | operators | replayed too, % | others | schema, % | inputs, % | dtype | sizes | "
      "strides | device | outputs, % | numbers, % |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const auto& [name, row] : rows) {
    fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", name,
               row.operators.all, percent(row.operators), row.not_made, percent(row.schemas),
               percent(row.inputs.all_four), percent(row.inputs.dtype), percent(row.inputs.sizes),
               percent(row.inputs.strides), percent(row.inputs.device),
               percent(row.outputs.all_four), percent(row.numbers));
  }
}

void print_flow(const std::vector<std::pair<std::string, Agreement>>& rows) {
  fmt::print(
      "\n| sample | edges | forward, % | backward, % | optimizer, % | externals, % | the same one, "
      "% | externals | for | MB | for | peak, MB | for |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const auto& [name, row] : rows) {
    Share all;
    for (const Share& part : row.edges) {
      all.add(part);
    }
    fmt::print(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n",
        name, all.all, percent(row.edges[0]), percent(row.edges[1]), percent(row.edges[2]),
        percent(row.externals), percent(row.same_externals), row.made_memory.externals,
        row.true_memory.externals, megabytes(row.made_memory.external_bytes),
        megabytes(row.true_memory.external_bytes), megabytes(row.made_memory.peak_bytes),
        megabytes(row.true_memory.peak_bytes));
  }
}

std::vector<std::pair<std::string, std::uint64_t>> worst_of(const Agreement& row) {
  std::vector<std::pair<std::string, std::uint64_t>> worst(row.disagreements.begin(),
                                                           row.disagreements.end());
  std::ranges::stable_sort(worst, std::ranges::greater(),
                           &std::pair<std::string, std::uint64_t>::second);
  return worst;
}

std::string json_text(std::string_view text) {
  std::string json;
  et_schema::append_json_string(json, text);
  return json;
}

std::string share_json(std::string_view name, const Share& share) {
  return fmt::format(R"("{}": {{"agree": {}, "all": {}}})", name, share.agree, share.all);
}

std::string tensors_json(std::string_view name, const TensorShares& shares) {
  return fmt::format(R"("{}": {{{}, {}, {}, {}, {}}})", name, share_json("whole", shares.all_four),
                     share_json("dtype", shares.dtype), share_json("sizes", shares.sizes),
                     share_json("strides", shares.strides), share_json("device", shares.device));
}

std::string memory_json(std::string_view name, const MemoryFigures& memory) {
  return fmt::format(R"("{}": {{"externals": {}, "external_bytes": {}, "peak_bytes": {}}})", name,
                     memory.externals, memory.external_bytes, memory.peak_bytes);
}

void print_json(const std::vector<std::pair<std::string, Agreement>>& rows) {
  std::string text;
  for (const auto& [name, row] : rows) {
    std::string worst;
    for (const auto& [what, count] : worst_of(row)) {
      worst += fmt::format("{}{}: {}", worst.empty() ? "" : ", ", json_text(what), count);
    }
    text += fmt::format(
        "{}{{\"sample\": {}, {}, \"not_made\": {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, "
        "\"disagreements\": {{{}}}}}",
        text.empty() ? "" : ",\n ", json_text(name), share_json("operators", row.operators),
        row.not_made, share_json("schemas", row.schemas), tensors_json("inputs", row.inputs),
        tensors_json("outputs", row.outputs), share_json("numbers", row.numbers),
        share_json("edges_forward", row.edges[0]), share_json("edges_backward", row.edges[1]),
        share_json("edges_optimizer", row.edges[2]), share_json("externals", row.externals),
        share_json("same_externals", row.same_externals),
        memory_json("true_memory", row.true_memory), memory_json("made_memory", row.made_memory),
        worst);
  }
  fmt::print("[{}]\n", text);
}

void print_worst(const std::vector<std::pair<std::string, Agreement>>& rows, std::size_t shown) {
  for (const auto& [name, row] : rows) {
    const auto worst = worst_of(row);
    for (std::size_t i = 0; i < std::min(worst.size(), shown); ++i) {
      fmt::print("{}{} × {}\n", i == 0 ? fmt::format("\n{}\n", name) : "", worst[i].second,
                 worst[i].first);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> folders;
  bool is_json = false;
  bool is_self = false;
  std::size_t shown = kUsuallyShown;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--json") {
      is_json = true;
    } else if (word == "--self") {
      is_self = true;
    } else if (word == "--worst" && i + 1 < argc) {
      shown = std::stoul(argv[++i]);
    } else {
      folders.emplace_back(word);
    }
  }
  std::vector<std::pair<std::string, Agreement>> rows;
  bool whole = true;
  for (const std::string& folder : folders) {
    try {
      const Made truth = made_of({folder});
      const Made made =
          made_of(is_self ? std::vector{folder} : profiles_of(folder, truth.traces.size()));
      rows.emplace_back(name_of(folder), compare(truth, made));
      whole = whole && rows.back().second.whole();
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}: {}\n", folder, error.what());
      whole = false;
    }
  }
  if (is_json) {
    print_json(rows);
  } else {
    print_operators(rows);
    print_flow(rows);
    print_worst(rows, shown);
  }
  return is_self && !whole ? 1 : 0;
}
