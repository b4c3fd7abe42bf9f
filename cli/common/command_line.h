#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "common/format.h"

namespace understudy::cli {

/// What --help shows around the list of options.
struct ProgramText {
  std::string name;         ///< "inspect"
  std::string description;  ///< one or two sentences
  std::string examples;     ///< one command a line, with what it does
  /// What status 1 means, and 0 where it is more than success: "1 a check or the run failed". The
  /// other statuses are all programs'.
  std::string success = "success";
  std::string failure = "the run failed";
  std::string more_statuses = {};  ///< lines of other statuses than the five of all programs
};

/// A parser with --help (EXAMPLES and EXIT STATUS included) and --version. Add the options, then
/// parse().
[[nodiscard]] std::unique_ptr<CLI::App> make_app(const ProgramText& text);

/// Adds --format text|json|csv; for programs that make pages also html.
void add_format_option(CLI::App& app, Format& format, bool makes_pages = false);

/// Adds --quiet. `result` says what of a program's output goes to standard output all the same.
void add_quiet_option(CLI::App& app, bool& quiet, const std::string& result);

/// Parses the arguments, --max-input among them. Throws et_schema::Error (usage) on a flag that is
/// not known, with the one that was probably meant, and on values that do not fit; Finished after
/// --help and --version, whose text goes to standard output.
void parse_arguments(CLI::App& app, int argc, char** argv);

}  // namespace understudy::cli
