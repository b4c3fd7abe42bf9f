#include <fmt/chrono.h>
#include <sys/utsname.h>

#include <ctime>
#include <string>
#include <thread>

#include "et_schema/base/processor.h"
#include "et_schema/base/version.h"
#include "replayer/job/replay.h"

namespace understudy::replayer {
namespace {

/// Returns the compiler's name and version; only Clang's version text includes the name.
std::string compiler() {
#ifdef __clang__
  return __VERSION__;
#else
  return "GCC " __VERSION__;
#endif
}

std::string kernel() {
  utsname names{};
  return uname(&names) == 0 ? std::string(names.sysname) + " " + names.release : "unknown";
}

}  // namespace

et_schema::Environment describe_environment(const RankRun& run) {
  et_schema::Environment environment;
  environment.tool_version = et_schema::kToolVersion;
  environment.date_utc = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
  environment.device = run.device;
  const std::string cpu_model = et_schema::processor_model();
  environment.cpu_model = cpu_model.empty() ? "unknown" : cpu_model;
  environment.cpu_count = static_cast<int>(std::thread::hardware_concurrency());
  environment.threads = run.threads;
  environment.versions = run.versions;
  environment.versions["compiler"] = compiler();
  environment.versions["kernel"] = kernel();
  return environment;
}

}  // namespace understudy::replayer
