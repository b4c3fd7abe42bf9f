#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/common/output.h"

namespace CLI {  // slow to compile: only one source includes it
class App;
class Option;
}  // namespace CLI

namespace understudy::cli {

/// What --help shows around the list of options.
struct ProgramText {
  std::string name;         ///< "inspect"
  std::string description;  ///< one or two sentences
  std::string examples;     ///< one command a line, with what it does
  /// Meaning of status 1, and of status 0 if it is more than success: "1 a check or the run
  /// failed". The other statuses are the same in all programs.
  std::string success = "success";
  std::string failure = "the run failed";
  /// What status 2 means beside wrong flags.
  std::string mismatch = "inputs that do not fit each other";
  std::string more_statuses = {};  ///< further lines, for statuses beyond the five common ones
  /// The most used flags, at most ten: --help shows these, --help-all shows all. If empty, both
  /// show all.
  std::vector<std::string> common = {};
};

/// Subject of a flag. --help shows the groups in this order.
enum class FlagGroup : std::uint8_t { kInput, kRuns, kMeasurement, kOutput, kTrust };

/// Further properties of an option.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(option) {}

  Option& required();
  /// --help shows `text` as the value without the option.
  Option& shows_default(const std::string& text);
  /// The option requires `flag`, or excludes `flags`. Those must have been added before.
  Option& needs(const std::string& flag);
  Option& excludes(const std::vector<std::string>& flags);
  /// Restricts a number, or each number of a list, to `least` … `most`. --help does not show the
  /// bounds.
  Option& is_within(int least, int most);
  Option& is_within(double least, double most);
  /// Restricts a text, or each text of a list, to `texts`. --help does not list them.
  Option& is_one_of(const std::vector<std::string>& texts);
  /// A list takes one value each time the flag is used; further values need the flag again.
  Option& repeats();
  /// A list takes `least` to `most` values, or one argument with values separated by commas.
  Option& takes(int least, int most);
  Option& splits_at_commas();

 private:
  CLI::Option& option_;
};

/// The options of a program, with --help (EXAMPLES and EXIT STATUS included), --help-all and
/// --version. A flag names the type of its value as --help shows it: "-o,--output FILE".
/// --help shows the initial value of a text, number or choice as its default, unless it is empty or
/// 0.
///
///     CommandLine line({.name = "tool", …});
///     line.add("PATH", arguments.path, "What to read").required();
///     line.parse(argc, argv);
class CommandLine {
 public:
  explicit CommandLine(ProgramText text);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Adds the following options to this group. Before the first call, the group is kInput.
  void begin(FlagGroup group);

  /// Adds an option whose value is a text, a number, or a list of either.
  template <typename Value>
  Option add(const std::string& flag, Value& value, const std::string& help);
  template <typename Value, typename Number>
  Option add_number(const std::string& flag, Value& value, Number least, Number most,
                    const std::string& help) {
    return add(flag, value, help).is_within(least, most);
  }

  using Read = std::function<bool(const std::string&)>;
  /// Adds a text option. If `read` returns false, the error message says that the value "is
  /// `wrong`".
  Option add_text(const std::string& flag, const Read& read, const std::string& wrong,
                  const std::string& help);
  using ReadList = std::function<std::string(const std::vector<std::string>&)>;
  /// Adds a list of texts. `read` returns what is wrong with the list, or an empty text.
  Option add_list(const std::string& flag, const ReadList& read, const std::string& help);

  /// Adds an option that maps each of these names to a value.
  template <typename Value>
  Option add_choice(const std::string& flag,
                    const std::vector<std::pair<std::string, std::type_identity_t<Value>>>& choices,
                    Value& value, const std::string& help) {
    std::vector<std::string> names;
    for (const auto& [name, choice] : choices) {
      names.push_back(name);
    }
    const auto read = [choices, &value](const std::string& given) {
      for (const auto& [name, choice] : choices) {
        value = name == given ? choice : value;
      }
      return true;
    };
    Option option = add_text(flag, read, "", help).is_one_of(names);
    for (const auto& [name, choice] : choices) {
      if (choice == value) {
        option.shows_default(name);
      }
    }
    return option;
  }

  Option add_flag(const std::string& flag, bool& is_given, const std::string& help);
  /// Lets the error about this unknown flag name what took its place.
  void was_replaced(const std::string& flag, const std::string& by) { replaced_[flag] = by; }
  Option add_flag(const std::string& flag, const std::function<void()>& set,
                  const std::string& help);

  /// Adds --format text|json|csv|html. Begins the output group, as add_quiet() does.
  void add_format(Format& format);
  /// Adds --quiet. `result` names the output that goes to standard output even with --quiet.
  void add_quiet(bool& quiet, const std::string& result);

  /// Throws et_schema::Error (usage) on an unknown flag, with the nearest known one, and on invalid
  /// values. Throws Finished after --help and --version, whose text goes to standard output.
  void parse(int argc, char** argv);
  [[nodiscard]] bool is_given(const std::string& flag) const;
  /// Returns the first of these flags that was given; empty: none was.
  [[nodiscard]] std::string first_given(std::initializer_list<const char*> flags) const;

 private:
  [[nodiscard]] std::string help(bool shows_all) const;

  ProgramText text_;
  std::unique_ptr<CLI::App> app_;
  std::map<std::string, std::string> replaced_;
};

/// Throws Error (usage) if `is_wrong`: what was given does not fit together.
void refuse_if(bool is_wrong, const std::string& summary, const std::string& field,
               const std::string& expected, const std::string& got, const std::string& hint = "",
               const std::string& file = "");

/// Returns the number that the whole text spells; empty if it is not a number.
[[nodiscard]] std::optional<double> parse_number(const std::string& text);
/// Returns 5 for "5%" and "5". Empty unless the number is above 0 and at most `most`.
[[nodiscard]] std::optional<double> parse_percent(const std::string& text, double most);

}  // namespace understudy::cli
