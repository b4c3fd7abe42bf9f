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

/// Arguments of `generate --emit`.
struct EmitChoice {
  std::string folder;          ///< empty: no project
  bool allow_missing = false;  ///< --allow-missing, which is of ranks, too
};

/// Writes the project and prints its contents. Throws Error (usage) if the folder cannot be
/// written. Throws Error (failed) if something cannot be expressed and must not be missing; the
/// project is still written.
void emit(const et_schema::Bench& bench, const EmitChoice& choice, const std::string& name,
          Format format, bool quiet);

/// Chakra traces of a benchmark, written into a folder.
struct WrittenChakra {
  std::string folder;
  generator::ChakraJob job;
  std::uint64_t bytes = 0;
};

/// Throws Error (usage) if traces cannot be written there, or would overwrite an input.
void refuse_chakra_folder(const std::string& folder, const std::vector<std::string>& inputs);

/// Writes FOLDER/chakra.R.et for each rank and FOLDER/comm_groups.json. Makes the folder. Throws
/// Error (failed).
[[nodiscard]] WrittenChakra write_chakra(const et_schema::Bench& bench, const std::string& folder);

/// Returns what was written, and which parts of the benchmark a Chakra trace cannot hold.
[[nodiscard]] nlohmann::ordered_json chakra_json(const WrittenChakra& written);

}  // namespace understudy::cli
