#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/common/output.h"

namespace CLI {  // what reads the arguments takes long to compile: one source alone includes it
class App;
class Option;
}  // namespace CLI

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
  /// The flags that most people need, at most ten: --help shows these, --help-all shows all. Empty:
  /// both show all.
  std::vector<std::string> common = {};
};

/// What a flag is about. --help shows the groups in this order.
enum class FlagGroup : std::uint8_t { kInput, kRuns, kMeasurement, kOutput, kTrust };

/// What else is to be said of an option.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(option) {}

  Option& required();
  /// --help tells what it is without the option.
  Option& shows_default(const std::string& text);
  /// It goes only with these, or only without them. They were added before.
  Option& needs(const std::string& flag);
  Option& excludes(const std::vector<std::string>& flags);
  /// A number, or of a list each, from `least` to `most`; --help does not spell that out.
  Option& is_within(int least, int most);
  Option& is_within(double least, double most);
  /// One of these texts, or of a list each; --help does not spell them out.
  Option& is_one_of(const std::vector<std::string>& texts);
  /// A list takes one value each time that it is given, and no further ones behind it.
  Option& repeats();
  /// A list takes so many values, or values with commas between them.
  Option& takes(int least, int most);
  Option& splits_at_commas();

 private:
  CLI::Option& option_;
};

/// The options of a program, with --help (EXAMPLES and EXIT STATUS included), --help-all, --version
/// and --max-input. A flag has the type of its value behind it, as --help shows it: "-o,--output
/// FILE". What a text, a number or a choice holds when it is added is told as its default, but for
/// nothing and 0.
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

  /// Puts what is added from here on into this group; until the first call that is kInput.
  void begin(FlagGroup group);

  /// A text, a number, or a list of them.
  template <typename Value>
  Option add(const std::string& flag, Value& value, const std::string& help);
  template <typename Value, typename Number>
  Option add_number(const std::string& flag, Value& value, Number least, Number most,
                    const std::string& help) {
    return add(flag, value, help).is_within(least, most);
  }

  using Read = std::function<bool(const std::string&)>;
  /// A text that `read` takes, which says false of what it cannot read: that "is `wrong`".
  Option add_text(const std::string& flag, const Read& read, const std::string& wrong,
                  const std::string& help);
  using ReadList = std::function<std::string(const std::vector<std::string>&)>;
  /// A list of texts; `read` says what is wrong with it, nothing where all is right.
  Option add_list(const std::string& flag, const ReadList& read, const std::string& help);

  /// The value that one of these names stands for.
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
  Option add_flag(const std::string& flag, const std::function<void()>& set,
                  const std::string& help);

  /// --format text|json|csv|html. Begins the output group, as add_quiet() does.
  void add_format(Format& format);
  /// --quiet. `result` says what of a program's output goes to standard output all the same.
  void add_quiet(bool& quiet, const std::string& result);

  /// Throws et_schema::Error (usage) on a flag that is not known, with the one that was probably
  /// meant, and on values that do not fit; Finished after --help and --version, whose text goes to
  /// standard output.
  void parse(int argc, char** argv);
  [[nodiscard]] bool is_given(const std::string& flag) const;
  /// Returns the first of these flags that was given, or null.
  [[nodiscard]] const char* first_given(std::initializer_list<const char*> flags) const;

 private:
  [[nodiscard]] std::string help(bool shows_all) const;

  ProgramText text_;
  std::unique_ptr<CLI::App> app_;
};

/// Throws Error (usage) of flags that do not fit together.
void refuse_if(bool is_wrong, const char* summary, const char* field, const char* expected,
               const char* got, const char* hint = "");

/// The number that a text is, all of it.
[[nodiscard]] std::optional<double> parse_number(const std::string& text);
/// 5 of "5%" and of "5"; none unless it is above 0 and at most `most`.
[[nodiscard]] std::optional<double> parse_percent(const std::string& text, double most);

/// The one of `known` that was probably meant by `word`: fewest characters to insert, delete or
/// change, and no more than a third of it. Empty if none is near.
[[nodiscard]] std::string nearest_word(const std::string& word,
                                       const std::vector<std::string>& known);

}  // namespace understudy::cli
