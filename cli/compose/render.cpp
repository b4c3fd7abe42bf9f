#include "compose/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "common/figures.h"
#include "common/json_csv.h"
#include "common/table.h"
#include "et_schema/model/op_class.h"

namespace understudy::cli {
namespace {

using et_schema::Bench;
using et_schema::Origin;

constexpr double kNsPerMs = 1e6;
constexpr double kShareApart = 0.01;  // what a reader would take for another mix

struct PieceSum {
  std::set<std::pair<std::string, std::uint64_t>> occurrences;  ///< name in the plan, repetition
  std::uint64_t instructions = 0;
  double ms = 0;
};

/// By piece, over all ranks. An occurrence counts once, in however many ranks and turns it runs.
std::map<std::string, PieceSum> sum_by_piece(const Bench& bench) {
  std::map<std::string, PieceSum> sums;
  for (std::size_t rank = 0; rank < bench.origins.size(); ++rank) {
    for (const Origin& origin : bench.origins[rank]) {
      PieceSum& sum = sums[origin.piece];
      sum.occurrences.emplace(origin.occurrence, origin.repetition);
      sum.instructions += origin.count;
      for (std::uint64_t i = 0; i < origin.count; ++i) {
        const auto& timing = bench.programs[rank].instructions[origin.first + i].timing;
        sum.ms += timing ? static_cast<double>(timing->host_ns) / kNsPerMs : 0;
      }
    }
  }
  return sums;
}

std::string fit_text(const composer::Fit& fit) {
  std::string text = fmt::format(
      "\nFitted: {:.3f} ms recorded in operators an iteration, {:.3f} % of its time in other "
      "classes than "
      "asked\n",
      fit.iteration_ms, fit.distance * kPercent);
  TextTable parts({{"part"},
                   {"steps", Alignment::kRight},
                   {"share of time asked", Alignment::kRight},
                   {"got", Alignment::kRight}});
  double most_apart = 0;
  for (std::size_t i = 0; i < fit.steps.size(); ++i) {
    most_apart = std::max(most_apart, std::abs(fit.shares[i] - fit.asked_shares[i]));
    parts.add({fit.plan.sources[i].path, with_commas(fit.steps[i]),
               fmt::format("{:.2f} %", fit.asked_shares[i] * kPercent),
               fmt::format("{:.2f} %", fit.shares[i] * kPercent)});
  }
  text += parts.to_text();
  if (most_apart >= kShareApart) {
    text += fmt::format(
        "  WARNING: the parts' shares are up to {:.1f} points from those asked; a lower "
        "--tolerance "
        "looks for a nearer mix, a plan sets the steps itself\n",
        most_apart * kPercent);
  }
  text += '\n';
  TextTable classes({{"class"}, {"asked", Alignment::kRight}, {"got", Alignment::kRight}});
  for (const auto& [name, share] : fit.asked) {
    const auto got = fit.got.find(name);
    classes.add({name, fmt::format("{:.2f} %", share * kPercent),
                 fmt::format("{:.2f} %", (got == fit.got.end() ? 0 : got->second) * kPercent)});
  }
  return text + classes.to_text();
}

nlohmann::ordered_json document_of(const Bench& bench, const std::string& path, std::uint64_t bytes,
                                   const std::optional<composer::Fit>& fit) {
  nlohmann::ordered_json pieces = nlohmann::ordered_json::array();
  for (const auto& [name, sum] : sum_by_piece(bench)) {
    pieces.push_back({{"piece", name},
                      {"occurrences", sum.occurrences.size()},
                      {"instructions", sum.instructions},
                      {"recorded_ms", sum.ms}});
  }
  nlohmann::ordered_json document = {{"bench", path},
                                     {"bytes", bytes},
                                     {"world_size", bench.world_size()},
                                     {"pieces", std::move(pieces)}};
  if (fit) {
    document["fit"] = {{"distance", fit->distance},
                       {"iteration_ms", fit->iteration_ms},
                       {"steps", fit->steps},
                       {"asked_shares", fit->asked_shares},
                       {"shares", fit->shares},
                       {"asked", fit->asked},
                       {"got", fit->got}};
  }
  return document;
}

std::string composed_text(const Bench& bench, const std::string& path, std::uint64_t bytes,
                          const std::optional<composer::Fit>& fit) {
  std::string text = fmt::format("{}: a benchmark of {} rank{}, {}\n", path, bench.world_size(),
                                 bench.world_size() == 1 ? "" : "s", with_bytes(bytes));
  TextTable ranks({{"rank", Alignment::kRight},
                   {"operators", Alignment::kRight},
                   {"instructions", Alignment::kRight},
                   {"tensors", Alignment::kRight},
                   {"recorded step, ms", Alignment::kRight}});
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    const et_schema::Program& program = bench.programs[rank];
    ranks.add({std::to_string(rank), with_commas(program.selection.operators),
               with_commas(program.instructions.size()), with_commas(program.slots.size()),
               program.profile
                   ? fmt::format("{:.3f}", static_cast<double>(program.profile->step_ns) / kNsPerMs)
                   : "unknown"});
  }
  text += ranks.to_text() + "\n";
  TextTable pieces({{"piece"},
                    {"occurrences", Alignment::kRight},
                    {"instructions", Alignment::kRight},
                    {"recorded in operators, ms", Alignment::kRight}});
  for (const auto& [name, sum] : sum_by_piece(bench)) {
    pieces.add({name, with_commas(sum.occurrences.size()), with_commas(sum.instructions),
                fmt::format("{:.3f}", sum.ms)});
  }
  return text + pieces.to_text() + (fit ? fit_text(*fit) : "");
}

std::string listed_text(const std::vector<composer::PieceEnds>& pieces) {
  std::string text;
  for (const composer::PieceEnds& piece : pieces) {
    text += fmt::format("{}{} of {}: {} instructions\n", text.empty() ? "" : "\n", piece.piece,
                        piece.source, with_commas(piece.instructions));
    TextTable table({{"end"}, {"tensor"}});
    for (std::size_t i = 0; i < piece.inputs.size(); ++i) {
      table.add({fmt::format("input {}", i), piece.inputs[i]});
    }
    for (std::size_t i = 0; i < piece.outputs.size(); ++i) {
      table.add({fmt::format("output {}", i), piece.outputs[i]});
    }
    text += table.to_text();
  }
  return text;
}

}  // namespace

std::string composed(const Bench& bench, const std::string& path, std::uint64_t bytes,
                     const std::optional<composer::Fit>& fit, Format format) {
  return as_asked(format, document_of(bench, path, bytes, fit),
                  [&] { return composed_text(bench, path, bytes, fit); });
}

std::string listed(const std::vector<composer::PieceEnds>& pieces, Format format) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const composer::PieceEnds& piece : pieces) {
    list.push_back({{"piece", piece.piece},
                    {"source", piece.source},
                    {"instructions", piece.instructions},
                    {"inputs", piece.inputs},
                    {"outputs", piece.outputs}});
  }
  return as_asked(format, {{"pieces", std::move(list)}}, [&] { return listed_text(pieces); });
}

}  // namespace understudy::cli
