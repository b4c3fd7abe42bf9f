#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/common/command_line.h"
#include "et_schema/formats/bench/bench.h"
#include "generator/chakra/chakra_job.h"
#include "generator/emitter/source/emit.h"

namespace understudy::cli {

/// What `generate --emit` was asked for.
struct EmitChoice {
  std::string language;  ///< "cpp", "python"; empty: no project
  std::string folder;
  bool allow_missing = false;
};

/// Adds --emit and --allow-missing.
void add_emit_options(CommandLine& line, EmitChoice& choice);

/// Writes the project and says what is in it. Throws Error: usage (a place that cannot be written
/// to), failed where something cannot be shown and is not allowed to be missing; the project is
/// written all the same.
void emit(const et_schema::Bench& bench, const EmitChoice& choice, const std::string& name,
          Format format, bool quiet);

/// The Chakra traces of a benchmark in a folder.
struct WrittenChakra {
  std::string folder;
  generator::ChakraJob job;
  std::uint64_t bytes = 0;
};

/// Throws Error (usage) if traces cannot be written there, or would take the place of an input.
void refuse_chakra_folder(const std::string& folder, const std::vector<std::string>& inputs);

/// Writes FOLDER/chakra.R.et of each rank and FOLDER/comm_groups.json; makes the folder. Throws
/// Error (failed).
[[nodiscard]] WrittenChakra write_chakra(const et_schema::Bench& bench, const std::string& folder);

/// What was written, and what of the benchmark such a trace cannot hold.
[[nodiscard]] nlohmann::ordered_json chakra_json(const WrittenChakra& written);

}  // namespace understudy::cli
