#pragma once

#include <functional>
#include <string>

namespace understudy::cli {

/// Exit statuses besides those of et_schema::ErrorKind.
inline constexpr int kStatusOk = 0;
inline constexpr int kStatusBug = 70;

/// Thrown by --help and --version after printing: nothing is left to do.
struct Finished {
  int status = kStatusOk;
};

/// Runs `body` and turns its outcome into an exit status: the value that `body` returns; the status
/// of an et_schema::Error (1, 2 or 65); 1 if out of memory; 70 for a broken invariant or any other
/// exception, which is a bug. Reports a failure on standard error as text that begins with
/// `program` or, with --format json, as {"error":{…}} on one line.
[[nodiscard]] int run_main(const std::string& program, int argc, char** argv,
                           const std::function<int()>& body);

}  // namespace understudy::cli
