#include "inspect/check.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "common/json_csv.h"
#include "common/table.h"
#include "inspect/tables.h"

namespace understudy::cli {
namespace {

using et_schema::ChakraCheck;
using et_schema::ChakraCounts;
using et_schema::ChakraFile;
using et_schema::ChakraViolation;

std::uint64_t violations_of(const ChakraCheck& check) {
  return std::accumulate(check.broken.begin(), check.broken.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& entry) { return sum + entry.second; });
}

std::string text_of(const std::vector<ChakraFile>& files, const ChakraCheck& check) {
  TextTable table({{"rank", Alignment::kRight},
                   {"version"},
                   {"nodes", Alignment::kRight},
                   {"host", Alignment::kRight},
                   {"device", Alignment::kRight},
                   {"collectives", Alignment::kRight},
                   {"messages", Alignment::kRight},
                   {"data edges", Alignment::kRight},
                   {"control edges", Alignment::kRight},
                   {"to later nodes", Alignment::kRight},
                   {"not simulated", Alignment::kRight}});
  for (std::size_t i = 0; i < files.size(); ++i) {
    const ChakraCounts& counts = check.ranks[i];
    table.add({std::to_string(files[i].rank), printable(files[i].version),
               with_commas(counts.nodes), with_commas(counts.host), with_commas(counts.device),
               with_commas(counts.collectives), with_commas(counts.messages),
               with_commas(counts.data_edges), with_commas(counts.ctrl_edges),
               with_commas(counts.later_edges), with_commas(counts.not_simulated)});
  }
  std::string text = table.to_text();
  if (check.is_accepted()) {
    return text + fmt::format("\nACCEPTED: {} rules hold\n", et_schema::kChakraRules);
  }
  text +=
      fmt::format("\nREFUSED: {} violations of {} of {} rules\n", with_commas(violations_of(check)),
                  check.broken.size(), et_schema::kChakraRules);
  TextTable rules({{"rule"}, {"count", Alignment::kRight}, {"meaning"}});
  for (const auto& [rule, count] : check.broken) {
    rules.add({std::string(info(rule).name), with_commas(count), std::string(info(rule).meaning)});
  }
  text += rules.to_text();
  text += "\nThe first ten of each\n";
  TextTable places({{"rule"},
                    {"rank", Alignment::kRight},
                    {"node", Alignment::kRight},
                    {"byte", Alignment::kRight},
                    {"what"}});
  for (const ChakraViolation& violation : check.violations) {
    places.add({std::string(info(violation.rule).name), std::to_string(violation.rank),
                violation.node ? std::to_string(*violation.node) : "-",
                violation.offset ? std::to_string(*violation.offset) : "-",
                printable(violation.text)});
  }
  return text + places.to_text();
}

nlohmann::ordered_json json_of(const std::vector<ChakraFile>& files, const ChakraCheck& check) {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
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
  nlohmann::ordered_json broken = nlohmann::ordered_json::object();
  for (const auto& [rule, count] : check.broken) {
    broken[std::string(info(rule).name)] = count;
  }
  nlohmann::ordered_json places = nlohmann::ordered_json::array();
  for (const ChakraViolation& violation : check.violations) {
    nlohmann::ordered_json place = {{"rule", info(violation.rule).name}, {"rank", violation.rank}};
    place["node"] = violation.node ? nlohmann::ordered_json(*violation.node) : nullptr;
    place["byte"] = violation.offset ? nlohmann::ordered_json(*violation.offset) : nullptr;
    place["text"] = violation.text;
    places.push_back(std::move(place));
  }
  return {{"accepted", check.is_accepted()},
          {"ranks", std::move(ranks)},
          {"broken", std::move(broken)},
          {"violations", std::move(places)}};
}

}  // namespace

std::string render_check(const std::vector<ChakraFile>& files, const ChakraCheck& check,
                         Format format) {
  return as_asked(format, json_of(files, check), [&] { return text_of(files, check); });
}

}  // namespace understudy::cli
