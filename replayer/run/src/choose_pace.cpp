#include "et_schema/support/error.h"
#include "replayer/run/host_probe.h"
#include "replayer/run/pace.h"

namespace understudy::replayer {
namespace {

[[noreturn]] void refuse(const char* summary, std::string expected, std::string got,
                         const char* hint) {
  throw et_schema::usage_error(
      summary,
      {.field = "--pace", .expected = std::move(expected), .got = std::move(got), .hint = hint});
}

}  // namespace

void check_pace(const et_schema::Program& program, const Pace& pace) {
  if (pace.kind == Pace::Kind::kAsap) {
    return;
  }
  if (!program.profile) {
    refuse("the benchmark does not say when the original issued its operators",
           "asap, or a benchmark that a profile was linked to", to_text(pace),
           "Make the benchmark anew with `generate --profile`, from a Kineto profile of the "
           "same step; a folder that scripts/capture wrote holds one.");
  }
  if (pace.kind != Pace::Kind::kHost) {
    return;
  }
  if (!program.profile->host_probe) {
    refuse("the benchmark does not say how fast the original's host was",
           "recorded, or a benchmark of a capture that holds host probes", to_text(pace),
           "Capture again with scripts/capture, which records them, or take --pace recorded.");
  }
  if (program.profile->host_probe->kind != HostProbe::kind()) {
    refuse("the original's host was probed with another program",
           "host probes of kind " + HostProbe::kind(), program.profile->host_probe->kind,
           "Replay with the LibTorch of the capture, capture again with this one, or take --pace "
           "recorded.");
  }
}

}  // namespace understudy::replayer
