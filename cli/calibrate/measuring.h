#pragma once

#include "calibrate/arguments.h"

namespace understudy::cli {

#if defined(UNDERSTUDY_MEASURES)
/// Measures this machine, prints what became of it and writes the rows, and the platform file where
/// one was asked for. The exit status.
int measure_machine(const CalibrateArguments& arguments);
#else
/// This build has no LibTorch to measure with. Throws Error (usage).
[[noreturn]] inline int measure_machine(const CalibrateArguments&) {
  throw et_schema::usage_error(
      "this build cannot measure: it has no LibTorch",
      {.field = "INPUT",
       .expected = "measurements that exist",
       .got = "none",
       .hint = "Name operator-times files or tables, or build with UNDERSTUDY_BUILD_REPLAYER."});
}
#endif

}  // namespace understudy::cli
