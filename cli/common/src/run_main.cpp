#include "cli/common/run_main.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include "cli/common/own_program.h"
#include "et_schema/base/control_characters.h"
#include "et_schema/base/error.h"
#include "et_schema/base/shipped.h"
#include "et_schema/base/version.h"

namespace understudy::cli {
namespace {

using et_schema::Error;
using et_schema::ErrorKind;

/// Searches the raw arguments, so that errors in the flags themselves are also reported as JSON. A
/// program that wants a result in another format, such as the Python package, sets the variable.
bool wants_json(int argc, char** argv) {
  const char* wish = std::getenv("UNDERSTUDY_ERRORS");
  const std::string words = fmt::format("{} ", fmt::join(argv, argv + argc, " "));
  return (wish != nullptr && std::string_view(wish) == "json") ||
         words.find(" --format=json ") != std::string::npos ||
         words.find(" --format json ") != std::string::npos;
}

int report(const std::string& program, bool json, const Error& error, int status) {
  // What was found, and where, are the user's own names.
  et_schema::ErrorContext context = error.context();
  context.expected = as_found_here(context.expected);
  context.hint = as_found_here(context.hint);
  const Error told(error.kind(), error.summary(), std::move(context));
  const std::string text =
      json ? et_schema::to_json(told) : fmt::format("{}: {}", program, et_schema::to_text(told));
  fmt::print(stderr, "{}\n", et_schema::escape_control_characters(text, "\n\t"));
  return status;
}

Error bug(const std::string& what) {
  return {ErrorKind::kFailed,
          "a bug in Understudy",
          {.got = what,
           .hint = fmt::format("please report it, with the input and the version, {}",
                               et_schema::kToolVersion)}};
}

}  // namespace

int run_main(const std::string& program, int argc, char** argv, const std::function<int()>& body) {
  const bool json = wants_json(argc, argv);
  try {
    et_schema::leave_current_folder();
    return body();
  } catch (const Finished& finished) {
    return finished.status;
  } catch (const Error& error) {
    return report(program, json, error, static_cast<int>(error.kind()));
  } catch (const std::bad_alloc&) {
    return report(program, json,
                  Error(ErrorKind::kFailed, "out of memory",
                        {.hint = "give it fewer ranks at a time, or a machine with more memory"}),
                  static_cast<int>(ErrorKind::kFailed));
  } catch (const std::system_error& error) {
    return report(program, json,
                  Error(ErrorKind::kFailed, "the system refused what was asked of it",
                        {.got = error.what(),
                         .hint = "limits of threads, memory or open files (ulimit -a), or a disk "
                                 "that is full or cannot be written"}),
                  static_cast<int>(ErrorKind::kFailed));
  } catch (const std::exception& error) {
    return report(program, json, bug(error.what()), kStatusBug);
  }
}

}  // namespace understudy::cli
