#include "fit_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "cli/common/output_path.h"
#include "cli/common/progress.h"
#include "cli/common/run_main.h"
#include "cli/compile/compile.h"
#include "cli/pages/document/from_json.h"
#include "cli/profile/profiled_device.h"
#include "et_schema/base/error.h"
#include "et_schema/base/output_file.h"
#include "et_schema/base/zip.h"
#include "et_schema/formats/bench/bench.h"
#include "predictor/calls/known_cards.h"
#include "predictor/calls/measured_files.h"
#include "predictor/overheads/overheads.h"
#include "predictor/platform/ceilings.h"
#include "predictor/platform/platform_costs.h"
#include "predictor/what_if/recorded_costs.h"

namespace understudy::cli {
namespace {

constexpr int kMostRanks = 1'000'000;

std::vector<predictor::Card> read_specs(const std::vector<std::string>& paths) {
  std::vector<predictor::Card> cards;
  for (const std::string& path : paths) {
    const predictor::Card* const known =
        std::filesystem::exists(path) ? nullptr : predictor::find_known_card(path);
    for (predictor::Card& card :
         known != nullptr ? std::vector{*known} : predictor::read_cards(path)) {
      if (std::ranges::find(cards, card.name, &predictor::Card::name) != cards.end()) {
        throw et_schema::bad_input("the card cannot be read", {.file = path,
                                                               .field = "Device",
                                                               .expected = "each card once",
                                                               .got = card.name + " again"});
      }
      cards.push_back(std::move(card));
    }
  }
  return cards;
}

/// Loads a benchmark, or a capture's folder linked with its profiles; returns nothing for other
/// paths.
std::optional<et_schema::Bench> bench_of(const std::string& path, Progress& progress) {
  namespace fs = std::filesystem;
  std::error_code error;
  const bool is_bench = fs::is_regular_file(path, error) && et_schema::is_bench_file(path);
  if (is_bench ||
      (fs::is_directory(path, error) && fs::exists(fs::path(path) / "capture.json", error))) {
    return load_benchmark({path},
                          {.partial = generator::PartialRanks::kOneAlone,
                           .allowed_operators = all_operators()},
                          {}, progress)
        .bench;
  }
  return std::nullopt;
}

/// Appends the recorded times of benchmarks as rows of operators, communication and hosts. Returns
/// the remaining paths.
std::vector<std::string> take_benches(const std::vector<std::string>& paths, Progress& progress,
                                      std::vector<predictor::MeasuredCall>& calls,
                                      predictor::SectionRows& sections, int ranks_per_node) {
  std::vector<std::string> others;
  for (const std::string& path : paths) {
    const std::optional<et_schema::Bench> bench = bench_of(path, progress);
    if (!bench) {
      others.push_back(path);
      continue;
    }
    const std::filesystem::path name = std::filesystem::path(path) / "";  // "dir/" gives "dir"
    const std::string source = name.parent_path().filename().string();
    std::ranges::move(predictor::recorded_calls(*bench, source), std::back_inserter(calls));
    predictor::Job job = predictor::job_of(*bench);
    job.ranks_per_node = ranks_per_node;
    predictor::add_collectives(predictor::recorded_comms(job, source), sections);
    for (const et_schema::Program& program : bench->programs) {
      merge(sections.overheads, predictor::observe(program));
    }
  }
  return others;
}

/// Adds the rows of a profile's operators. If the card is neither named by the profile nor
/// described, its rows are only counted as left out.
void add_profiled_rows(const et_schema::Profile& profile, bool is_card_described,
                       predictor::RowsRead& rows) {
  predictor::RowsRead of_profile = profiled_rows(profile);
  for (predictor::MeasuredCall& row : of_profile.calls) {
    if (row.device != predictor::kGpuPlace || is_card_described) {
      rows.calls.push_back(std::move(row));
    } else {
      rows.left_out["profiles: calls on a card that is not named (--card names it)"] +=
          row.time().n;
    }
  }
  for (const auto& [reason, count] : of_profile.left_out) {
    rows.left_out[reason] += count;
  }
}

/// Adds known data sheets of cards that occur in rows without a description.
void add_known_cards(const std::vector<predictor::MeasuredCall>& rows,
                     std::vector<predictor::Card>& cards) {
  for (const predictor::Card& card : predictor::known_cards()) {
    if (std::ranges::find(rows, card.name, &predictor::MeasuredCall::device) != rows.end() &&
        std::ranges::find(cards, card.name, &predictor::Card::name) == cards.end()) {
      cards.push_back(card);
    }
  }
}

predictor::Platform fit(const FitArguments& arguments, Progress& progress, FitResult& result) {
  progress.show("reading");
  predictor::PlatformContent known;
  const std::vector<predictor::Card> described = read_specs(arguments.specs);
  known.cards = described;  // overrides a platform file's entry of the same card
  predictor::SectionRows sections;
  std::vector<predictor::MeasuredCall> recorded;
  const std::vector<std::string> measurements = predictor::take_platform_files(
      take_benches(arguments.inputs, progress, recorded, sections, arguments.ranks_per_node),
      known);
  predictor::RowsRead profiled;
  const std::vector<std::string> operators = predictor::take_section_files(
      measurements, sections, arguments.ranks_per_node, [&](const et_schema::Profile& profile) {
        add_profiled_rows(profile, !described.empty(), profiled);
      });
  predictor::RowsRead read;
  if (!operators.empty()) {
    read = predictor::read_measured_calls(operators);
  }
  std::ranges::move(profiled.calls, std::back_inserter(read.calls));
  read.left_out.merge(profiled.left_out);
  read.calls.insert(read.calls.end(), std::make_move_iterator(recorded.begin()),
                    std::make_move_iterator(recorded.end()));
  read.calls.insert(read.calls.end(), std::make_move_iterator(known.rows.begin()),
                    std::make_move_iterator(known.rows.end()));
  predictor::name_places(read.calls, described);
  add_known_cards(read.calls, known.cards);
  result.left_out = std::move(read.left_out);
  result.left_out.merge(sections.left_out);
  predictor::ModelsOptions options;
  options.host = known.host;
  std::string phase;
  options.progress = [&](const std::string& what, std::size_t done, std::size_t total) {
    phase = "fitting " + what;
    progress.show({.phase = phase, .done = done, .total = total});
  };
  predictor::Platform platform;
  platform.operators = predictor::fit_operator_models(read.calls, known.cards, options);
  platform.energy = predictor::fit_energy(read.calls, known.cards, options);
  platform.rows = std::move(read.calls);
  predictor::FittedSections fitted = predictor::fit_sections(sections);
  platform.sections = std::move(fitted.json);
  result.sections = std::move(fitted.models);
  platform.sections.insert(arguments.sections.begin(), arguments.sections.end());
  std::ranges::move(predictor::sustained_ceilings(read.sustained),
                    std::back_inserter(read.ceilings));
  if (!read.ceilings.empty()) {
    platform.sections[predictor::kCeilingsSection] = predictor::to_json(read.ceilings).dump();
  }
  // What was measured now comes before the sections of platform files.
  platform.sections.merge(known.sections);
  if (platform.rows.empty() && platform.sections.empty() && known.cards.empty()) {
    throw et_schema::bad_input(
        "nothing was measured in the files",
        {.file = arguments.inputs.front(),
         .expected = "calls with times, communication, or a host's overheads",
         .got = "none",
         .hint = "a profile tells times of operators where it has their sizes (record_shapes)"});
  }
  return platform;
}

}  // namespace

void add_fit_options(CommandLine& line, FitArguments& arguments) {
  line.add(
      "INPUT", arguments.inputs,
      "Measurements: tables of operators (CSV), operator-times files of replay, folders of them; "
      "benchmarks with times (generate --profile), or what understudy capture "
      "wrote; files of collective rows, nccl-tests' output, embedding rows, Kineto profiles of a "
      "Python program (operators, where it has their shapes; its host's overheads; of all ranks of "
      "a job communication, too); platform files, whose rows, cards and sections are kept");
  line.add("--card CARD", arguments.specs,
           "Specifications of cards (GPU models): a JSON file, a folder of them, or a name whose "
           "data sheet is known, such as H100. Known cards that rows name need none; peaks of "
           "others are taken from their fastest rows");
  line.add_number("--ranks-per-node N", arguments.ranks_per_node, 1, kMostRanks,
                  "In recorded communication: ranks that share a node, in order of their numbers");
  line.begin(FlagGroup::kOutput);
  line.add("-o,--output FILE", arguments.output,
           "The platform file to write; gzipped if its name ends in .gz");
}

int fit_files(const FitArguments& arguments) {
  std::vector<std::string> inputs = arguments.inputs;
  inputs.insert(inputs.end(), arguments.specs.begin(), arguments.specs.end());
  refuse_output(arguments.output, inputs, "--output");
  Progress progress(arguments.quiet);
  FitResult result;
  const predictor::Platform platform = fit(arguments, progress, result);
  progress.show("writing");
  const std::string text = predictor::to_json(platform);
  et_schema::write_file_atomically(
      arguments.output, arguments.output.ends_with(".gz") ? et_schema::gzip_bytes(text) : text);
  progress.clear();
  pages::show(fit_page(platform, result, arguments.output), arguments.format, arguments.quiet);
  return kStatusOk;
}

}  // namespace understudy::cli
