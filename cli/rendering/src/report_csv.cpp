#include <nlohmann/json.hpp>

#include "common/json_csv.h"
#include "et_schema/report/report_json.h"
#include "report_text/report_text.h"

namespace understudy::cli {

std::string report_to_csv(const et_schema::Report& report) {
  // By way of the JSON, so that each of its figures is there, whatever comes to it.
  return json_to_csv(nlohmann::ordered_json::parse(et_schema::to_json(report)));
}

}  // namespace understudy::cli
