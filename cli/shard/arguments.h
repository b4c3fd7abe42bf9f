#pragma once

#include <optional>
#include <string>

#include "cli/common/command_line.h"

namespace understudy::cli {

/// Arguments of `shard`.
struct ShardArguments {
  std::string tables;  ///< file of the tables
  std::string platform;
  std::string card;  ///< empty: the platform's
  int ranks = 0;
  int nodes = 1;
  std::optional<double> memory_gib;  ///< memory of a rank
  Format format = Format::kText;
  bool quiet = false;
};

/// Throws what parse_arguments() throws, and Error (usage) on flags that do not fit together.
[[nodiscard]] ShardArguments read_shard_arguments(int argc, char** argv);

}  // namespace understudy::cli
