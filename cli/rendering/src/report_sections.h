#pragma once

#include <string>
#include <vector>

#include "common/table.h"
#include "report_text/report_text.h"

namespace understudy::cli {

inline constexpr Alignment kRight = Alignment::kRight;

/// One heading with what stands below it. Left out of the text if the body is empty.
struct Section {
  std::string title;
  std::string body;
};

/// All sections of a report in the order of the text.
[[nodiscard]] std::vector<Section> report_sections(const et_schema::Report& report,
                                                   const ReportTextOptions& options);

}  // namespace understudy::cli
