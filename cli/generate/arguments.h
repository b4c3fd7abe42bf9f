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
  std::string output;         ///< empty: no benchmark is written
  std::string chakra_folder;  ///< empty: no Chakra traces are written
  Format format = Format::kText;
  generator::GenerateOptions options;
  ProfileChoice profiles;
  std::vector<std::string> op_maps;
  bool obfuscate = false;
  EmitChoice emit;
  std::vector<int> kernel_architectures;  ///< GPUs of --kernels: 90 for sm_90
  std::optional<generator::BatchSize> batch;
  generator::WorldSize world;  ///< ranks 0: as recorded
  bool quiet = false;
  /// The first flag of compiling traces, and the first that changes a benchmark; empty: not used.
  /// An existing benchmark only accepts flags of the second kind, and --output only with one of
  /// them.
  std::string compiled_by;
  std::string changed_by;
};

/// Throws et_schema::Error (usage) if nothing is to be done or the flags exclude each other.
[[nodiscard]] GenerateArguments read_generate_arguments(int argc, char** argv);

}  // namespace understudy::cli
