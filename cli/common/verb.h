#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace understudy::cli {

/// A verb, `understudy NAME …`, or a command of one, `fleet NAME …`, named "fleet NAME". One static
/// object in its own file registers it:
///
///     const Verb kInspect("inspect", "Shows what is in traces", [](int argc, char** argv) {
///       return inspect(read_arguments(argc, argv));
///     });
///
/// The file must be linked as an object: the linker would drop it from a static library.
class Verb {
 public:
  using Run = int (*)(int argc, char** argv);

  /// `summary` is a line of --help.
  Verb(std::string_view name, std::string_view summary, Run run) noexcept;
  Verb(const Verb&) = delete;
  Verb& operator=(const Verb&) = delete;
  ~Verb() = default;

  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] std::string_view summary() const { return summary_; }
  /// Runs the verb and reports a failure, as run_main() does; argv[0] is not read. Returns the exit
  /// status.
  int run(int argc, char** argv) const;

 private:
  friend std::vector<const Verb*> verbs_of(std::string_view prefix);

  std::string_view name_;
  std::string_view summary_;
  Run run_;
  const Verb* next_;  ///< the verb registered before this one
};

/// Returns the verbs of this program whose names are `prefix` ("" or "fleet ") and one word, by
/// name.
[[nodiscard]] std::vector<const Verb*> verbs_of(std::string_view prefix);

/// Returns null if no verb has this name.
[[nodiscard]] const Verb* find_verb(std::string_view name);

/// Properties of a program, or of a verb with commands, besides its verbs.
struct VerbGroup {
  std::string program;      ///< "fleet"
  std::string prefix;       ///< "fleet "
  std::string noun;         ///< "command"
  std::string help_before;  ///< help text before the list of verbs
  std::string help_after;
};

/// Runs the verb that the first word names, or prints --help or --version. Throws et_schema::Error
/// (usage) if there is no such verb.
int run_verb(const VerbGroup& group, std::vector<std::string> words);

}  // namespace understudy::cli
