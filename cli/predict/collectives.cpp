#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "cli/common/output.h"
#include "cli/common/run_main.h"
#include "cli/pages/document/from_json.h"
#include "costs.h"
#include "et_schema/base/error.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/input_files.h"
#include "et_schema/base/quote.h"
#include "judged.h"
#include "predictor/collectives/models.h"
#include "predictor/platform/cost_parts.h"

namespace understudy::cli {
namespace {

using Document = nlohmann::ordered_json;
using predictor::CollectiveRow;
using predictor::Estimate;

std::vector<CollectiveRow> read_rows(const std::string& path) {
  std::vector<CollectiveRow> rows;
  et_schema::read_input_files(path, et_schema::process_limits(), [&](et_schema::InputFile&& file) {
    std::ranges::move(predictor::parse_collective_rows(file.data, file.name, false).rows,
                      std::back_inserter(rows));
  });
  if (rows.empty()) {
    throw et_schema::bad_input("nothing to predict",
                               {.file = path, .expected = "a row", .got = "none"});
  }
  return rows;
}

Document row_of(const CollectiveRow& row, const Estimate& time) {
  const bool has_time = row.median_ns > 0;
  return {{"kind", to_string(row.kind)},
          {"dtype", to_string(row.dtype)},
          {"bytes", row.bytes},
          {"ranks", row.ranks},
          {"nodes", row.nodes},
          {"ms", time.ns / kNsPerMs},
          {"low", time.low_ns / kNsPerMs},
          {"high", time.high_ns / kNsPerMs},
          {"model", time.model},
          {"extrapolated", time.extrapolated},
          {"unmodelled", !time.modelled},
          {"measured_ms", has_time ? Document(row.median_ns / kNsPerMs) : Document()},
          {"error", has_time && time.ns > 0 ? Document(time.ns / row.median_ns - 1) : Document()}};
}

/// A line for each row. Marks are 0 or 1, missing times empty.
std::string csv_of(const Document& rows) {
  std::string out;
  std::string titles;
  for (const Document& row : rows) {
    std::string line;
    titles.clear();
    for (const auto& [key, value] : row.items()) {
      const char* const comma = line.empty() ? "" : ",";
      titles += comma + key;
      line += comma + (value.is_null()           ? ""
                       : value.is_boolean()      ? std::string(value.get<bool>() ? "1" : "0")
                       : value.is_number_float() ? fmt::format("{:.6g}", value.get<double>())
                       : value.is_string()       ? et_schema::csv_cell(value.get<std::string>())
                                                 : value.dump());
    }
    out += line + "\n";
  }
  return titles + "\n" + out;
}

pages::Page page_of(const Document& document, const std::vector<CollectiveRow>& rows,
                    const Judged& judged) {
  using pages::counts, pages::figures, pages::shares, pages::texts;
  const auto count = [&](const char* mark) {
    return et_schema::with_commas(static_cast<std::uint64_t>(std::ranges::count_if(
        document["collectives"], [&](const Document& row) { return row[mark].get<bool>(); })));
  };
  pages::Page page;
  page.title =
      fmt::format("{} calls predicted, {} extrapolated, {} without a model",
                  et_schema::with_commas(rows.size()), count("extrapolated"), count("unmodelled"));
  std::vector<pages::Column> columns = {
      texts("kind"),         texts("type", "dtype"), pages::byte_counts("size", "bytes"),
      counts("ranks"),       counts("nodes"),        figures("ms"),
      figures("low"),        figures("high"),        texts("model"),
      texts("extrapolated"), texts("unmodelled")};
  if (!judged.empty()) {
    columns.push_back(figures("measured ms", "measured_ms"));
    columns.push_back(shares("error"));
  }
  page.sections = {{"collectives",
                    "Communication",
                    {pages::table_at(document, "/collectives", "Communication", columns)}}};
  if (!judged.empty()) {
    page.sections.push_back(judged.section("kind"));
  }
  return made_by("predict", std::move(page), document, "collectives.json");
}

}  // namespace

int predict_collectives(const PredictArguments& arguments) {
  predictor::Platform platform = predictor::read_platform(arguments.platform);
  const std::string card =
      arguments.card.empty() ? arguments.device : add_card(arguments.card, platform);
  const std::vector<CollectiveRow> rows = read_rows(arguments.collectives);
  const predictor::CollectiveModels models = predictor::collectives_of(platform);
  Document predicted = Document::array();
  Judged judged;
  for (const CollectiveRow& row : rows) {
    const predictor::CommPlace place{card.empty() ? predictor::card_of(row) : card, row.network};
    const Estimate time = predictor::estimate(models, {row}, place);
    predicted.push_back(row_of(row, time));
    judged.add(std::string(to_string(row.kind)), row.median_ns, time);
  }
  if (arguments.format == Format::kCsv) {
    print_output(csv_of(predicted));
    return kStatusOk;
  }
  const Document document = {{"format", "understudy-collective-predictions"},
                             {"version", 1},
                             {"card", card},
                             {"collectives", std::move(predicted)}};
  pages::show(page_of(document, rows, judged), arguments.format);
  return kStatusOk;
}

}  // namespace understudy::cli
