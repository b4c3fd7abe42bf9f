#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "et_schema/formats/report/report_json.h"
#include "et_schema/model/report.h"
#include "properties.h"
#include "report_samples.h"

namespace understudy::et_schema {

void check_report_property(std::string_view input) {
  if (input.empty()) {
    return;
  }
  const bool one_rank = (static_cast<unsigned char>(input.front()) & 1U) != 0;
  const std::string json(input.substr(1));
  try {
    if (one_rank) {
      const std::string written = to_json(parse_rank_report(json, "rank"));
      UNDERSTUDY_ASSERT(to_json(parse_rank_report(written, "rank")) == written);
    } else {
      const Report report = parse_report(json, "report.json");
      const std::string written = to_json(report);
      UNDERSTUDY_ASSERT(to_json(parse_report(written, "report.json")) == written);
      (void)merge(report.ranks, report.filters, report.environment);
    }
  } catch (const Error&) {
    // Refused: as right an outcome as reading it.
  }
}

std::vector<std::string> report_seeds() {
  return {std::string(1, '\0') + to_json(sample_report(1)),
          std::string(1, '\0') + to_json(sample_report(2)), '\1' + to_json(sample_rank_report(0)),
          '\1' + to_json(RankReport())};
}

}  // namespace understudy::et_schema
