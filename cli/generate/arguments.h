#pragma once

#include <optional>
#include <string>
#include <vector>

#include "change.h"
#include "cli/common/command_line.h"
#include "cli/compile/compile.h"
#include "generator/options/options.h"
#include "generator/resize/batch.h"
#include "generator/resize/world.h"
#include "outputs.h"

namespace understudy::cli {

struct GenerateArguments {
  std::vector<std::string> paths;
  std::string output;         ///< empty: none is written
  std::string chakra_folder;  ///< empty: none are written
  Format format = Format::kText;
  generator::GenerateOptions options;
  ProfileChoice profiles;
  std::vector<std::string> op_maps;
  bool repair_messages = false;
  bool keep_names = false;
  bool obfuscate = false;
  EmitChoice emit;
  std::vector<int> kernel_architectures;  ///< to compile Triton's kernels for: 90 of sm_90
  std::optional<generator::BatchSize> batch;
  generator::WorldSize world;  ///< ranks and ranks_per_program 0: as recorded
  std::string names_path;      ///< what obfuscation replaced; empty: beside the output
  bool quiet = false;
  /// The first flag that says how traces become a benchmark, and the first that makes another one
  /// of it; null: none was given. A benchmark that is there takes the second kind alone, and
  /// --output only beside it.
  const char* compiled_by = nullptr;
  const char* changed_by = nullptr;
};

/// Throws et_schema::Error (usage): nothing to do, or what cannot be done at once.
[[nodiscard]] GenerateArguments read_generate_arguments(int argc, char** argv);

}  // namespace understudy::cli
