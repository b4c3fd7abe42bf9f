#include "generate/obfuscate.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "common/figures.h"
#include "common/table.h"
#include "et_schema/support/error.h"
#include "et_schema/support/output_file.h"

namespace understudy::cli {

void refuse_obfuscation(const std::string& output, const std::string& chakra_folder) {
  if (output.empty() || !chakra_folder.empty()) {
    throw et_schema::usage_error(
        "only a benchmark can be obfuscated",
        {.field = "--obfuscate",
         .expected = "-o BENCH, without --chakra",
         .got = output.empty() ? "no --output" : "--chakra",
         .hint = "make the benchmark first; generate BENCH --chakra DIR takes it"});
  }
}

Hidden hide(et_schema::Bench& bench, const std::string& names_path) {
  Hidden hidden{names_path, generator::obfuscate(std::move(bench))};
  et_schema::write_file_atomically(names_path, generator::to_json(hidden.what.map));
  bench = std::move(hidden.what.bench);
  return hidden;
}

std::string hidden_text(const Hidden& hidden) {
  const generator::Obfuscated& what = hidden.what;
  std::string text = fmt::format("\nObfuscated: what was replaced is in {}, for the owner alone\n",
                                 hidden.names_path);
  TextTable table({{"replaced"}, {"names", Alignment::kRight}});
  for (const auto& [kind, names] : what.map) {
    table.add({kind, with_commas(names.size())});
  }
  table.add({"numbers, to one digit", with_commas(what.rounded_numbers)});
  table.add({"numbers, left out", with_commas(what.cleared_numbers)});
  text += table.to_text();
  if (what.hidden_operators > 0) {
    text += fmt::format(
        "{} operators are found by name on no target now: {} replay through what was recorded "
        "below them, {} are dropped\n",
        with_commas(what.hidden_operators), with_commas(what.hidden_operators - what.without_body),
        with_commas(what.without_body));
  }
  return text;
}

nlohmann::ordered_json hidden_json(const Hidden& hidden) {
  const generator::Obfuscated& what = hidden.what;
  nlohmann::ordered_json counts = nlohmann::ordered_json::object();
  for (const auto& [kind, names] : what.map) {
    counts[kind] = names.size();
  }
  return {{"names_file", hidden.names_path},           {"names", std::move(counts)},
          {"hidden_operators", what.hidden_operators}, {"hidden_without_body", what.without_body},
          {"rounded_numbers", what.rounded_numbers},   {"cleared_numbers", what.cleared_numbers}};
}

}  // namespace understudy::cli
