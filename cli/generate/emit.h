#pragma once

#include <string>

#include "common/command_line.h"
#include "emitter/source/emit.h"
#include "et_schema/bench/bench.h"

namespace understudy::cli {

/// What `generate --emit` was asked for.
struct EmitChoice {
  std::string language;  ///< "cpp", "python"; empty: no project
  std::string folder;
  bool allow_missing = false;
};

/// Adds --emit and --allow-missing.
void add_emit_options(CLI::App& app, EmitChoice& choice);

/// Writes the project and says what is in it. Throws Error: usage (a place that cannot be written
/// to), failed where something cannot be shown and is not allowed to be missing; the project is
/// written all the same.
void emit(const et_schema::Bench& bench, const EmitChoice& choice, const std::string& name,
          Format format, bool quiet);

}  // namespace understudy::cli
