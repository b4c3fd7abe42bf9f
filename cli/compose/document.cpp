#include "compose/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "common/figures.h"
#include "pages/html/from_json.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::Bench;
using et_schema::Origin;
using pages::counts, pages::facts_at, pages::figures, pages::ids, pages::shares, pages::table_at,
    pages::texts;

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

Json fit_json(const composer::Fit& fit) {
  Json parts = Json::array();
  for (std::size_t i = 0; i < fit.steps.size(); ++i) {
    parts.push_back({{"name", fit.plan.sources[i].path},
                     {"steps", fit.steps[i]},
                     {"asked_share", fit.asked_shares[i]},
                     {"share", fit.shares[i]}});
  }
  Json classes = Json::array();
  for (const auto& [name, share] : fit.asked) {
    const auto got = fit.got.find(name);
    classes.push_back(
        {{"name", name}, {"asked", share}, {"got", got == fit.got.end() ? 0 : got->second}});
  }
  return {{"distance", fit.distance},
          {"iteration_ms", fit.iteration_ms},
          {"parts", std::move(parts)},
          {"classes", std::move(classes)}};
}

Json document_of(const Bench& bench, const std::string& path, std::uint64_t bytes,
                 const std::optional<composer::Fit>& fit) {
  Json ranks = Json::array();
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    const et_schema::Program& program = bench.programs[rank];
    ranks.push_back({{"rank", rank},
                     {"operators", program.selection.operators},
                     {"instructions", program.instructions.size()},
                     {"tensors", program.slots.size()},
                     {"step_ns", program.profile ? Json(program.profile->step_ns) : Json()}});
  }
  Json pieces = Json::array();
  for (const auto& [name, sum] : sum_by_piece(bench)) {
    pieces.push_back({{"piece", name},
                      {"occurrences", sum.occurrences.size()},
                      {"instructions", sum.instructions},
                      {"recorded_ms", sum.ms}});
  }
  Json document = {{"bench", path},
                   {"bytes", bytes},
                   {"world_size", bench.world_size()},
                   {"ranks", std::move(ranks)},
                   {"pieces", std::move(pieces)}};
  if (fit) {
    document["fit"] = fit_json(*fit);
  }
  return document;
}

pages::Section fit_section(const Json& document, const composer::Fit& fit) {
  pages::Section section{
      "fit",
      "Fitted",
      {facts_at(document, "/fit",
                {figures("recorded in operators an iteration", "iteration_ms", 1, "ms"),
                 shares("of its time in other classes than asked", "distance")}),
       table_at(document, "/fit/parts", "Parts, by their share of the time",
                {texts("part", "name"), counts("steps"), shares("asked", "asked_share"),
                 shares("got", "share")}),
       table_at(document, "/fit/classes", "Classes of operators, by their share of the time",
                {texts("class", "name"), shares("asked"), shares("got")})}};
  double most_apart = 0;
  for (std::size_t i = 0; i < fit.steps.size(); ++i) {
    most_apart = std::max(most_apart, std::abs(fit.shares[i] - fit.asked_shares[i]));
  }
  if (most_apart >= kShareApart) {
    section.blocks.emplace_back(pages::Notes{
        {fmt::format("the parts' shares are up to {:.1f} points from those asked; a lower "
                     "--tolerance looks for a nearer mix, a plan sets the steps itself",
                     most_apart * kPercent)},
        true});
  }
  return section;
}

}  // namespace

pages::Page composed_page(const Bench& bench, const std::string& path, std::uint64_t bytes,
                          const std::optional<composer::Fit>& fit) {
  const Json document = document_of(bench, path, bytes, fit);
  pages::Page page;
  page.title = fmt::format("{}: a benchmark of {} rank{}, {}", path, bench.world_size(),
                           bench.world_size() == 1 ? "" : "s", with_bytes(bytes));
  page.sections = {
      {"bench",
       "What it holds",
       {table_at(document, "/ranks", "Ranks",
                 {ids("rank"), counts("operators"), counts("instructions"), counts("tensors"),
                  figures("recorded step, ms", "step_ns", 1 / kNsPerMs)}),
        table_at(document, "/pieces", "Pieces",
                 {texts("piece"), counts("occurrences"), counts("instructions"),
                  figures("recorded in operators, ms", "recorded_ms")})}}};
  if (fit) {
    page.sections.push_back(fit_section(document, *fit));
  }
  return made_by("compose", std::move(page), document, "composed.json");
}

pages::Page pieces_page(const std::vector<composer::PieceEnds>& pieces) {
  Json list = Json::array();
  pages::Page page;
  page.title = "What the plan's pieces read and make";
  for (const composer::PieceEnds& piece : pieces) {
    list.push_back({{"piece", piece.piece},
                    {"source", piece.source},
                    {"instructions", piece.instructions},
                    {"inputs", piece.inputs},
                    {"outputs", piece.outputs}});
  }
  const Json document = {{"pieces", std::move(list)}};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto ends = [&](const char* what, const char* heading) {
      return table_at(document, fmt::format("/pieces/{}/{}s", i, what),
                      fmt::format("{} of {}, {} instructions: {}", pieces[i].piece,
                                  pieces[i].source, with_commas(pieces[i].instructions), heading),
                      {texts(what, "name"), texts("tensor", "value")});
    };
    page.sections.push_back({fmt::format("piece-{}", i),
                             pieces[i].piece,
                             {ends("input", "reads"), ends("output", "makes")}});
  }
  return made_by("compose", std::move(page), document, "pieces.json");
}

}  // namespace understudy::cli
