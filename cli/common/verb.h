#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace understudy::cli {

/// A verb, `understudy NAME …`. One static object in its own file registers it:
///
///     const Verb kInspect("inspect", "Shows what is in traces", [](int argc, char** argv) {
///       return inspect(read_arguments(argc, argv));
///     });
///
/// The file must be linked as an object: the linker would drop it from a static library.
class Verb {
 public:
  using Run = int (*)(int argc, char** argv);

  /// `summary` is a line of --help; a verb without one is not listed there.
  Verb(std::string_view name, std::string_view summary, Run run) noexcept;
  Verb(const Verb&) = delete;
  Verb& operator=(const Verb&) = delete;
  ~Verb() = default;

  /// Returns the verbs that --help lists, by name.
  [[nodiscard]] static std::vector<const Verb*> listed();

  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] std::string_view summary() const { return summary_; }
  /// Runs the verb and reports a failure, as run_main() does; argv[0] is not read. Returns the exit
  /// status.
  int run(int argc, char** argv) const;

 private:
  friend const Verb* find_verb(std::string_view name);

  std::string_view name_;
  std::string_view summary_;
  Run run_;
  const Verb* next_;  ///< the verb registered before this one
};

/// Returns null if no verb of this program has this name.
[[nodiscard]] const Verb* find_verb(std::string_view name);

/// What --help says around the list of verbs.
struct VerbsHelp {
  std::string before;
  std::string after;
};

/// Runs the verb that the first word names, or prints --help or --version. Throws et_schema::Error
/// (usage) if there is no such verb.
int run_verb(const VerbsHelp& help, std::vector<std::string> words);

}  // namespace understudy::cli
