#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

/// Throws Error (usage) of flags that do not fit together.
void refuse_if(bool is_wrong, const char* summary, const char* field, const char* expected,
               const char* got, const char* hint = "");

/// Adds --format text|json|csv|html.
void add_format_option(CLI::App& app, Format& format);

/// Adds an option that `set` takes, one of `names`; --help does not spell them out.
template <typename Set>
CLI::Option* add_choice_option(CLI::App& app, const char* flag,
                               const std::vector<std::string>& names, Set set, const char* type,
                               const char* help) {
  return app.add_option_function<std::string>(flag, set, help)
      ->check(CLI::IsMember(names).description(""))
      ->type_name(type);
}

/// Adds an option that `read` takes, which says false of what it cannot read: that "is `wrong`".
template <typename Read>
CLI::Option* add_text_option(CLI::App& app, const char* flag, Read read, const char* wrong,
                             const char* type, const char* help) {
  const auto take = [flag, read, wrong](const std::string& text) {
    if (!read(text)) {
      throw CLI::ValidationError(flag, text + " is " + wrong);
    }
  };
  return app.add_option_function<std::string>(flag, take, help)->type_name(type);
}

/// 5 of "5%" and of "5"; none unless it is above 0 and at most `most`.
[[nodiscard]] std::optional<double> parse_percent(const std::string& text, double most);

/// Adds an option whose number lies from `least` to `most`, which --help does not spell out; there
/// it is called `type`.
template <typename Value, typename Number>
CLI::Option* add_number_option(CLI::App& app, const char* flag, Value& value, Number least,
                               Number most, const char* type, const char* help) {
  return app.add_option(flag, value, help)
      ->check(CLI::Range(least, most).description(""))
      ->type_name(type);
}

/// Adds --quiet. `result` says what of a program's output goes to standard output all the same.
void add_quiet_option(CLI::App& app, bool& quiet, const std::string& result);

/// Parses the arguments, --max-input among them. Throws et_schema::Error (usage) on a flag that is
/// not known, with the one that was probably meant, and on values that do not fit; Finished after
/// --help and --version, whose text goes to standard output.
void parse_arguments(CLI::App& app, int argc, char** argv);

/// The one of `known` that was probably meant by `word`: fewest characters to insert, delete or
/// change, and no more than a third of it. Empty if none is near.
[[nodiscard]] std::string nearest_word(const std::string& word,
                                       const std::vector<std::string>& known);

}  // namespace understudy::cli
