#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "cli/pages/document/from_json.h"
#include "documents.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/json_record.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::ChakraCheck;
using et_schema::ChakraCounts;
using et_schema::ChakraFile;
using et_schema::ChakraViolation;
using pages::counts, pages::ids, pages::table_at, pages::texts;

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
    places.push_back({{"rule", info(violation.rule).name},
                      {"rank", violation.rank},
                      {"node", et_schema::json_of(violation.node)},
                      {"byte", et_schema::json_of(violation.offset)},
                      {"text", violation.text}});
  }
  return {{"accepted", check.is_accepted()},
          {"ranks", std::move(ranks)},
          {"broken", std::move(broken)},
          {"violations", std::move(places)}};
}

std::string check_verdict(const ChakraCheck& check) {
  return check.is_accepted() ? fmt::format("ACCEPTED: {} rules hold.", et_schema::kChakraRules)
                             : fmt::format("REFUSED: {} violations of {} of {} rules.",
                                           et_schema::with_commas(violations_of(check)),
                                           check.broken.size(), et_schema::kChakraRules);
}

pages::Section rules_section(const Json& document, const ChakraCheck& check) {
  pages::Table rules{.id = "rule-table",
                     .caption = "Rules that are broken",
                     .columns = {texts("rule"), counts("count"), texts("meaning")}};
  for (const auto& [rule, count] : check.broken) {
    rules.rows.push_back({std::string(info(rule).name), count, std::string(info(rule).meaning)});
  }
  return {"rules",
          "Rules",
          {rules, table_at(document, "/violations", "The first ten of each",
                           {texts("rule"), ids("rank"), ids("node"), ids("byte"),
                            texts("what", "text")})}};
}

}  // namespace

pages::Page check_page(const std::vector<ChakraFile>& files, const ChakraCheck& check) {
  const Json document = check_document(files, check);
  pages::Page page;
  page.title = "Chakra traces";
  page.verdict = {check.is_accepted() ? pages::Tone::kGood : pages::Tone::kBad,
                  check_verdict(check)};
  page.sections = {
      {"ranks",
       "Ranks",
       {table_at(document, "/ranks", "Ranks",
                 {ids("rank"), counts("nodes"), counts("host", "host_nodes"),
                  counts("device", "device_nodes"), counts("collectives"), counts("messages"),
                  counts("data edges", "data_edges"), counts("control edges", "control_edges"),
                  counts("to later nodes", "later_edges"), counts("not simulated", "not_simulated"),
                  texts("version")})}},
      rules_section(document, check)};
  return made_by("inspect", std::move(page), document, "check.json");
}

}  // namespace understudy::cli
