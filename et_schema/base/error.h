#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace understudy::et_schema {

/// Kinds of failure. The values are the programs' exit statuses.
enum class ErrorKind : int {
  kFailed = 1,    ///< a check or the run failed: coverage too low, an operator threw, out of memory
  kUsage = 2,     ///< wrong flags or world size, or a missing library
  kBadInput = 65  ///< a wrong or damaged input file
};

/// Location of a failure, and how to fix it. The text omits fields that are empty or unset.
struct ErrorContext {
  std::string file = {};         ///< the input's path; `archive.tar.gz/member` for a member
  std::optional<int> rank = {};  ///< rank of the trace or of the process
  std::optional<std::uint64_t> node = {};  ///< id of the trace's node
  std::string field = {};                  ///< the wrong part: "inputs.values", "--device"
  std::string expected = {};               ///< the expected value
  std::string got = {};                    ///< the actual value
  std::string hint = {};                   ///< how the user can fix it
};

/// The project's only exception: ends the program with a message about something that the user can
/// fix. The project's own bugs fail assertions instead (see assert.h).
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string summary, ErrorContext context);

  [[nodiscard]] ErrorKind kind() const { return kind_; }
  /// One sentence without the context, such as "not a PyTorch execution trace".
  [[nodiscard]] const std::string& summary() const { return summary_; }
  [[nodiscard]] const ErrorContext& context() const { return context_; }

  /// Returns the same error with the file or the rank set, if it was unset.
  [[nodiscard]] Error with_file(const std::string& file) const;
  [[nodiscard]] Error with_rank(int rank) const;

 private:
  ErrorKind kind_;
  std::string summary_;
  ErrorContext context_;
};

/// Returns the text for users: the summary, then one indented line for each field of the context.
[[nodiscard]] std::string to_text(const Error& error);

/// Returns {"error":{"summary","file","rank","node","field","expected","got","hint"}} on one line.
[[nodiscard]] std::string to_json(const Error& error);

[[nodiscard]] inline Error bad_input(std::string summary, ErrorContext context) {
  return Error(ErrorKind::kBadInput, std::move(summary), std::move(context));
}
[[nodiscard]] inline Error usage_error(std::string summary, ErrorContext context) {
  return Error(ErrorKind::kUsage, std::move(summary), std::move(context));
}
[[nodiscard]] inline Error run_failed(std::string summary, ErrorContext context) {
  return Error(ErrorKind::kFailed, std::move(summary), std::move(context));
}

}  // namespace understudy::et_schema
