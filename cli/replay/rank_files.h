#pragma once

#include <string>
#include <vector>

#include "common/output_path.h"
#include "et_schema/operator_times/operator_times.h"
#include "replay/arguments.h"

namespace understudy::cli {

/// All files that a replay of `ranks` ranks was asked to write.
[[nodiscard]] std::vector<NamedOutput> outputs_of(const ReplayArguments& arguments, int ranks);

/// Writes FILE, of several ranks FILE.R. `texts`: by rank.
void write_checksums(const std::string& path, const std::vector<std::string>& texts);

/// Writes the rows of all ranks' texts behind the header of `times`.
void write_operator_times(const std::string& path, et_schema::OperatorTimes times,
                          const std::vector<std::string>& texts);

/// Writes the ranks' Kineto profiles: FILE of one alone; of several out.R.json, and FILE with all
/// of them, each with processes of its own.
void write_traces(const std::string& path, const std::vector<std::string>& profiles);

}  // namespace understudy::cli
