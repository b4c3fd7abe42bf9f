#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>

#include "arguments.h"
#include "cli/common/run_main.h"
#include "cli/common/verb.h"
#include "et_schema/base/error.h"
#include "et_schema/base/process.h"
#include "job.h"

namespace understudy::cli {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

/// Returns when this process began, before its libraries were loaded; the current time if the
/// system does not report it.
SteadyTime process_start() {
  const SteadyTime now = std::chrono::steady_clock::now();
  const std::uint64_t ticks = et_schema::own_process().started;
  timespec since_boot{};
  if (ticks == 0 || clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0) {
    return now;
  }
  const double started = static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
  constexpr double kNano = 1e-9;
  const double age = static_cast<double>(since_boot.tv_sec) +
                     static_cast<double>(since_boot.tv_nsec) * kNano - started;
  return now - std::chrono::duration_cast<SteadyTime::duration>(std::chrono::duration<double>(age));
}

int replay(int argc, char** argv) {
  const SteadyTime started = process_start();
  const auto run = [&](const std::function<int()>& body) {
    return run_main("replay", argc, argv, body);
  };
  ReplayJob job([&](const et_schema::Error& error) {
    std::_Exit(run([&]() -> int { throw et_schema::Error(error); }));
  });
  const int status = run([&] {
    return job.run([&] {
      ReplayArguments arguments = read_replay_arguments(argc, argv);
      arguments.options.started = started;
      return arguments;
    });
  });
  if (status != kStatusOk) {
    job.end_others(status);
  }
  return status;
}

const Verb kVerb("replay", "Runs a benchmark, under mpirun on several ranks", replay);

}  // namespace
}  // namespace understudy::cli
