#pragma once

#include <functional>
#include <string>

namespace understudy::cli {

/// Exit statuses that are no et_schema::ErrorKind.
inline constexpr int kStatusOk = 0;
inline constexpr int kStatusBug = 70;

/// The outcome "nothing left to do": --help and --version throw it once their text is out.
struct Finished {
  int status = kStatusOk;
};

/// Runs `body` and turns its outcome into an exit status: what it returns; an et_schema::Error's
/// own (1, 2 or 65); 1 out of memory; 70 for a broken invariant or any other exception, a bug of
/// ours. A failure is told on standard error as text or, if the arguments ask for --format json, as
/// {"error":{…}} on one line. `program` stands in front of the text.
[[nodiscard]] int run_main(const std::string& program, int argc, char** argv,
                           const std::function<int()>& body);

}  // namespace understudy::cli
