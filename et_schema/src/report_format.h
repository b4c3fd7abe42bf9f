#pragma once

#include <array>
#include <optional>
#include <vector>

#include "et_schema/report.h"

namespace understudy::et_schema {

inline constexpr const char* kReportFormat = "understudy-report";

/// One list of the coverage: its key, and the key of its rows' notes.
struct CoverageList {
  const char* key;
  const char* note_key;
  std::vector<NamedCount> Coverage::*rows;
  bool always_noted = true;  ///< else the key is left out of a row without a note
};

inline constexpr std::array<CoverageList, 5> kCoverageLists = {{
    {"substituted", "by", &Coverage::substituted},
    {"stubbed", "by", &Coverage::stubbed},
    {"dropped", "reason", &Coverage::dropped},
    {"not_applicable", "reason", &Coverage::not_applicable},
    {"pinned_outputs", "reason", &Coverage::pinned_outputs, false},
}};

/// One figure of the system's counters and its key.
struct CounterFigure {
  const char* key;
  std::optional<double> SystemCounters::*figure;
};

inline constexpr std::array<CounterFigure, 7> kCounterFigures = {{
    {"cpu_ms", &SystemCounters::cpu_ms},
    {"minor_faults", &SystemCounters::minor_faults},
    {"major_faults", &SystemCounters::major_faults},
    {"involuntary_switches", &SystemCounters::involuntary_switches},
    {"instructions", &SystemCounters::instructions},
    {"cycles", &SystemCounters::cycles},
    {"cache_misses", &SystemCounters::cache_misses},
}};

}  // namespace understudy::et_schema
