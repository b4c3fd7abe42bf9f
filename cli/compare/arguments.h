#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/command_line.h"
#include "comparer/compare.h"

namespace understudy::cli {

/// Which verdicts end the program with status 1.
enum class FailOn : std::uint8_t { kSlower, kDifferent, kNever };

/// What `compare` was asked to do.
struct CompareArguments {
  std::vector<std::string> a, b;  ///< reports, profiles, or folders of them
  std::string output;             ///< empty: standard output
  Format format = Format::kText;
  FailOn fail_on = FailOn::kSlower;
  bool different_benchmarks = false;
  std::size_t top = 15;  ///< operators in the text
  comparer::CompareOptions options;
  bool quiet = false;
};

/// Throws what parse_arguments() throws.
[[nodiscard]] CompareArguments read_compare_arguments(int argc, char** argv);

}  // namespace understudy::cli
