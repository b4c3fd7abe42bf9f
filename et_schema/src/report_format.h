#pragma once

#include <array>
#include <vector>

#include "et_schema/report.h"

namespace understudy::et_schema {

inline constexpr const char* kReportFormat = "understudy-report";

/// One list of the coverage: its key, and the key of its rows' notes (null: they have none).
struct CoverageList {
  const char* key;
  const char* note_key;
  std::vector<NamedCount> Coverage::*rows;
};

inline constexpr std::array<CoverageList, 5> kCoverageLists = {{
    {"substituted", "by", &Coverage::substituted},
    {"stubbed", "by", &Coverage::stubbed},
    {"dropped", "reason", &Coverage::dropped},
    {"not_applicable", "reason", &Coverage::not_applicable},
    {"pinned_outputs", nullptr, &Coverage::pinned_outputs},
}};

}  // namespace understudy::et_schema
