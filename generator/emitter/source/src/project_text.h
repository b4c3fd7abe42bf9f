#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "generator/emitter/source/emit.h"

namespace understudy::emitter {

/// Inputs for the files of a project around its steps. `step_of`: by rank, the step's name.
struct ProjectParts {
  std::string name;
  std::vector<std::string> step_of;
  std::vector<std::string> source_of;  ///< by rank: the path of its trace
  std::vector<std::string> groups;     ///< by process group: its ranks, "[0, 1]"; "[]": all ranks
  bool communicates = false;
  std::string report;  ///< see report_text()
};

[[nodiscard]] std::map<std::string, std::string> project_files(const ProjectParts& parts);

/// Returns the runtime files of every emitted project: path in the project → text.
[[nodiscard]] const std::map<std::string, std::string_view>& runtime_files();

}  // namespace understudy::emitter
