#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "common/figures.h"
#include "inspect/documents.h"
#include "pages/html/from_json.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::ChakraCheck;
using et_schema::ChakraCounts;
using et_schema::ChakraFile;
using et_schema::ChakraViolation;
using pages::CellKind;

std::uint64_t violations_of(const ChakraCheck& check) {
  return std::accumulate(check.broken.begin(), check.broken.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& entry) { return sum + entry.second; });
}

Json check_document(const std::vector<ChakraFile>& files, const ChakraCheck& check) {
  Json ranks = Json::array();
  for (std::size_t i = 0; i < files.size(); ++i) {
    const ChakraCounts& counts = check.ranks[i];
    ranks.push_back({{"rank", files[i].rank},
                     {"file", files[i].file},
                     {"version", files[i].version},
                     {"nodes", counts.nodes},
                     {"host_nodes", counts.host},
                     {"device_nodes", counts.device},
                     {"collectives", counts.collectives},
                     {"messages", counts.messages},
                     {"data_edges", counts.data_edges},
                     {"control_edges", counts.ctrl_edges},
                     {"later_edges", counts.later_edges},
                     {"not_simulated", counts.not_simulated}});
  }
  Json broken = Json::object();
  for (const auto& [rule, count] : check.broken) {
    broken[std::string(info(rule).name)] = count;
  }
  Json places = Json::array();
  for (const ChakraViolation& violation : check.violations) {
    Json place = {{"rule", info(violation.rule).name}, {"rank", violation.rank}};
    place["node"] = violation.node ? Json(*violation.node) : nullptr;
    place["byte"] = violation.offset ? Json(*violation.offset) : nullptr;
    place["text"] = violation.text;
    places.push_back(std::move(place));
  }
  return {{"accepted", check.is_accepted()},
          {"ranks", std::move(ranks)},
          {"broken", std::move(broken)},
          {"violations", std::move(places)}};
}

std::string check_verdict(const ChakraCheck& check) {
  return check.is_accepted() ? fmt::format("ACCEPTED: {} rules hold.", et_schema::kChakraRules)
                             : fmt::format("REFUSED: {} violations of {} of {} rules.",
                                           with_commas(violations_of(check)), check.broken.size(),
                                           et_schema::kChakraRules);
}

pages::Section rules_section(const Json& document, const ChakraCheck& check) {
  pages::Table rules{.id = "rule-table",
                     .caption = "Rules that are broken",
                     .columns = {{"rule"}, {"count", CellKind::kCount}, {"meaning"}}};
  for (const auto& [rule, count] : check.broken) {
    rules.rows.push_back({std::string(info(rule).name), count, std::string(info(rule).meaning)});
  }
  return {"rules",
          "Rules",
          {rules, pages::table_at(document, {.id = "violation-table",
                                             .caption = "The first ten of each",
                                             .columns = {{"rule", CellKind::kText, "rule"},
                                                         {"rank", CellKind::kId, "rank"},
                                                         {"node", CellKind::kId, "node"},
                                                         {"byte", CellKind::kId, "byte"},
                                                         {"what", CellKind::kText, "text"}},
                                             .at = "/violations"})}};
}

}  // namespace

pages::Page check_page(const std::vector<ChakraFile>& files, const ChakraCheck& check) {
  const Json document = check_document(files, check);
  pages::Page page;
  page.title = "Chakra traces";
  page.tone = check.is_accepted() ? pages::Tone::kGood : pages::Tone::kBad;
  page.verdict = check_verdict(check);
  page.sections = {
      {"ranks",
       "Ranks",
       {pages::table_at(document, {.id = "rank-table",
                                   .caption = "Ranks",
                                   .columns = {{"rank", CellKind::kId, "rank"},
                                               {"nodes", CellKind::kCount, "nodes"},
                                               {"host", CellKind::kCount, "host_nodes"},
                                               {"device", CellKind::kCount, "device_nodes"},
                                               {"collectives", CellKind::kCount, "collectives"},
                                               {"messages", CellKind::kCount, "messages"},
                                               {"data edges", CellKind::kCount, "data_edges"},
                                               {"control edges", CellKind::kCount, "control_edges"},
                                               {"to later nodes", CellKind::kCount, "later_edges"},
                                               {"not simulated", CellKind::kCount, "not_simulated"},
                                               {"version", CellKind::kText, "version"}},
                                   .at = "/ranks"})}},
      rules_section(document, check)};
  pages::set_data(page, document, "check.json");
  page.footer = "Made by Understudy's inspect.";
  return page;
}

}  // namespace understudy::cli
