#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "cli/common/run_main.h"
#include "cli/pages/document/from_json.h"
#include "costs.h"
#include "judged.h"
#include "predictor/collectives/models.h"
#include "predictor/platform/platform_costs.h"

namespace understudy::cli {
namespace {

using Document = nlohmann::ordered_json;
using predictor::CollectiveRow;
using predictor::Estimate;

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

pages::Page page_of(const Document& document, const Judged& judged) {
  using pages::counts, pages::figures, pages::texts;
  pages::Page page;
  page.title = judged.summary();
  page.sections = {
      {"collectives",
       "Communication",
       {pages::table_at(
           document, "/collectives", "Communication",
           {texts("kind"), texts("type", "dtype"), pages::byte_counts("size", "bytes"),
            counts("ranks"), counts("nodes"), figures("ms"), figures("low"), figures("high"),
            figures("measured", "measured_ms"), pages::shares("error"), texts("model"),
            texts("extrapolated"), texts("unmodelled")})}},
      judged.section("kind")};
  return made_by("predict", std::move(page), document, "collectives.json");
}

}  // namespace

int predict_collectives(const PredictArguments& arguments,
                        const std::vector<et_schema::InputFile>& files) {
  const ChosenPlatform chosen = choose_platform(arguments.platform, arguments.card);
  const std::string& card = chosen.device;
  const predictor::CollectiveModels models = predictor::collectives_of(chosen.platform);
  Document predicted = Document::array();
  Judged judged;
  for (const et_schema::InputFile& file : files) {
    for (const CollectiveRow& row :
         predictor::parse_collective_rows(file.data, file.name, false).rows) {
      const Estimate time = predictor::estimate(
          models, {row}, {card.empty() ? predictor::card_of(row) : card, row.network});
      predicted.push_back(row_of(row, time));
      judged.add(std::string(to_string(row.kind)), row.median_ns, time);
    }
  }
  pages::show(page_of({{"format", "understudy-collective-predictions"},
                       {"version", 1},
                       {"card", card},
                       {"collectives", std::move(predicted)}},
                      judged),
              arguments.format);
  return kStatusOk;
}

}  // namespace understudy::cli
