#include "time_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace understudy::replayer {
namespace {

double expected_iteration_ms(const et_schema::Program& program, const ReplayOptions& options,
                             double first_iteration_ms) {
  constexpr double kPercent = 100;
  constexpr double kMilliOfNano = 1e-6;
  double expected_ms =
      first_iteration_ms * (1 + (options.slow ? options.slow->percent : 0) / kPercent);
  if (options.pace == Pace::kRecorded && program.profile) {
    expected_ms += static_cast<double>(program.profile->step_ns) * kMilliOfNano;
  }
  return expected_ms;
}

}  // namespace

double default_time_limit_s(const et_schema::Program& program, const ReplayOptions& options,
                            double first_iteration_ms, backends::Job& job) {
  constexpr double kIterations = 20;
  constexpr double kLeastSeconds = 60;
  constexpr double kMilli = 1000;
  const double mine_ms = expected_iteration_ms(program, options, first_iteration_ms);
  double slowest_ms = 0;
  for (const std::string& text : job.all_gather_text(fmt::format("{}", mine_ms))) {
    slowest_ms = std::max(slowest_ms, std::stod(text));
  }
  return std::max(kLeastSeconds, std::ceil(kIterations * slowest_ms / kMilli));
}

}  // namespace understudy::replayer
