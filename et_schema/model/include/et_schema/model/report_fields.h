#pragma once

#include <array>
#include <optional>
#include <vector>

#include "et_schema/model/report.h"

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

/// One figure of the system's counters, its key, and its line in the text. Of a job: the ranks'
/// sum.
struct CounterFigure {
  const char* key;
  std::optional<double> SystemCounters::*figure;
  const char* text;
  const char* unit = "";
  bool from_hardware = false;  ///< many machines do not count it
};

inline constexpr std::array<CounterFigure, 7> kCounterFigures = {{
    {"cpu_ms", &SystemCounters::cpu_ms, "CPU time of all threads", " ms"},
    {"minor_faults", &SystemCounters::minor_faults, "minor page faults"},
    {"major_faults", &SystemCounters::major_faults, "major page faults"},
    {"involuntary_switches", &SystemCounters::involuntary_switches, "involuntary context switches"},
    {"instructions", &SystemCounters::instructions, "instructions", "", true},
    {"cycles", &SystemCounters::cycles, "cycles", "", true},
    {"cache_misses", &SystemCounters::cache_misses, "cache misses", "", true},
}};

/// One count or figure of the pace and its key. Reports of before a key lack it.
struct PaceCount {
  const char* key;
  std::uint64_t PaceUse::*count;
};
inline constexpr std::array<PaceCount, 6> kPaceCounts = {{
    {"paced", &PaceUse::paced},
    {"on_time", &PaceUse::on_time},
    {"unready", &PaceUse::unready},
    {"late", &PaceUse::late},
    {"own_threads", &PaceUse::own_threads},
    {"device_waits", &PaceUse::device_waits},
}};
struct PaceFigure {
  const char* key;
  std::optional<double> PaceUse::*figure;
};
inline constexpr std::array<PaceFigure, 12> kPaceFigures = {{
    {"error_median_us", &PaceUse::error_median_us},
    {"error_p99_us", &PaceUse::error_p99_us},
    {"unready_ms", &PaceUse::unready_ms},
    {"late_ms", &PaceUse::late_ms},
    {"drift_median_us", &PaceUse::drift_median_us},
    {"drift_p99_us", &PaceUse::drift_p99_us},
    {"drift_end_us", &PaceUse::drift_end_us},
    {"device_wait_recorded_ms", &PaceUse::device_wait_recorded_ms},
    {"device_wait_ms", &PaceUse::device_wait_ms},
    {"recorded_probe_us", &PaceUse::recorded_probe_us},
    {"probe_us", &PaceUse::probe_us},
    {"gap_factor", &PaceUse::gap_factor},
}};

}  // namespace understudy::et_schema
