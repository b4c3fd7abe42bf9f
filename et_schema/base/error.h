#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace understudy::et_schema {

/// What `main` turns a failure into. The values are the programs' exit statuses.
enum class ErrorKind : int {
  kFailed = 1,    ///< a check or the run failed: coverage too low, an operator threw, out of memory
  kUsage = 2,     ///< flags, world size, a library that is missing
  kBadInput = 65  ///< an input file that is not right
};

/// Where a failure was found and what to do about it. An empty or absent field is left out of the
/// text.
struct ErrorContext {
  std::string file = {};         ///< the input's path; `archive.tar.gz/member` for a member
  std::optional<int> rank = {};  ///< rank of the trace or of the process
  std::optional<std::uint64_t> node = {};  ///< id of the trace's node
  std::string field = {};                  ///< the part that is wrong: "inputs.values", "--device"
  std::string expected = {};               ///< what would have been right
  std::string got = {};                    ///< what is there
  std::string hint = {};                   ///< what the user can do
};

/// The one exception of the project: an outcome that ends the program, and that its user can do
/// something about. The project's own bugs are assertions instead (see assert.h).
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string summary, ErrorContext context);

  [[nodiscard]] ErrorKind kind() const { return kind_; }
  /// One sentence without the context, as in "not a PyTorch execution trace".
  [[nodiscard]] const std::string& summary() const { return summary_; }
  [[nodiscard]] const ErrorContext& context() const { return context_; }

  /// The same error with its file, or its rank, filled in where it had none.
  [[nodiscard]] Error with_file(const std::string& file) const;
  [[nodiscard]] Error with_rank(int rank) const;

 private:
  ErrorKind kind_;
  std::string summary_;
  ErrorContext context_;
};

/// The text a person reads: the summary, then one indented line for each field of the context.
[[nodiscard]] std::string to_text(const Error& error);

/// {"error":{"summary","file","rank","node","field","expected","got","hint"}} on one line.
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
