#include "document.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "cli/pages/bench/bench_document.h"
#include "cli/pages/document/account.h"
#include "cli/pages/document/from_json.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/file_name.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::Bench;
using pages::counts, pages::figures, pages::table_at, pages::texts;

constexpr double kNsPerMs = 1e6;

struct PieceSum {
  std::set<std::pair<std::string, std::uint64_t>> occurrences;  ///< name in the plan, repetition
  std::uint64_t instructions = 0;
  double ms = 0;
};

/// Sums by piece over all ranks. An occurrence counts once, regardless of how many ranks and turns
/// it runs in.
std::map<std::string, PieceSum> sum_by_piece(const Bench& bench) {
  std::map<std::string, PieceSum> sums;
  for (std::size_t rank = 0; rank < bench.origins.size(); ++rank) {
    for (const et_schema::Origin& origin : bench.origins[rank]) {
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

Json document_of(const Bench& bench, const std::string& path, std::uint64_t bytes,
                 const et_schema::Account& sources) {
  Json pieces = Json::array();
  for (const auto& [name, sum] : sum_by_piece(bench)) {
    pieces.push_back({{"piece", name},
                      {"occurrences", sum.occurrences.size()},
                      {"instructions", sum.instructions},
                      {"recorded_ms", sum.ms}});
  }
  Json document = {{"bench", path}, {"bytes", bytes}};
  document.update(pages::bench_json(bench));
  document["account"] = pages::account_json(sources, "the sources' steps");
  document["pieces"] = std::move(pieces);
  return document;
}

}  // namespace

pages::Page composed_page(const Bench& bench, const std::string& path, std::uint64_t bytes,
                          const et_schema::Account& sources) {
  const Json document = document_of(bench, path, bytes, sources);
  pages::Page page;
  page.title =
      fmt::format("{}: a benchmark of {}, {}", et_schema::file_name(path),
                  et_schema::counted(bench.world_size(), "rank"), et_schema::with_bytes(bytes));
  page.verdict = pages::verdict_on(sources, "The mix", "its sources'");
  page.sections = pages::bench_sections(document, bench);
  page.sections.insert(page.sections.begin() + 1,
                       {"pieces",
                        "Pieces",
                        {table_at(document, "/pieces", "Pieces",
                                  {texts("piece"), counts("occurrences"), counts("instructions"),
                                   figures("recorded in operators, ms", "recorded_ms")})}});
  return made_by("compose", std::move(page), document, "composed.json");
}

}  // namespace understudy::cli
